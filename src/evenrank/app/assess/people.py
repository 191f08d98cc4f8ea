"""Who is asking: the secret in the address says it."""

from __future__ import annotations

from starlette.convertors import register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request

from evenrank.app.assess.judging import judging_of
from evenrank.app.pages.i18n import Message
from evenrank.app.request.address import TokenConvertor, own
from evenrank.trec.assessment.assessors import Assessor, assessor_of

UNKNOWN_LINK = Message(
    "This link is not valid. It may have been cut off, or replaced by a newer one: ask your organiser."
)


class SecretConvertor(TokenConvertor):
    """The secret of an assessor's link."""

    regex = "[A-Za-z0-9_-]{32}"


register_url_convertor("secret", SecretConvertor())


def person(request: Request) -> Assessor:
    """Whose link it is; not found for an unknown one."""
    found = assessor_of(judging_of(request).store, request.path_params["secret"])
    if found is None:
        raise HTTPException(404, UNKNOWN_LINK)
    return found


def organiser(request: Request) -> Assessor:
    """The organiser whose link it is; not found for anybody else."""
    found = person(request)
    if found.role != "organiser":
        raise HTTPException(404, "This page is for organisers. Your own link starts with /judge/.")
    return found


def judge_path(request: Request, *parts: object) -> str:
    """An address below this assessor's link."""
    return "/".join([own(request, "/judge"), request.path_params["secret"], *map(str, parts)])


def organise_path(request: Request, *parts: object) -> str:
    """An address below this organiser's link."""
    return "/".join([own(request, "/organise"), request.path_params["secret"], *map(str, parts)])
