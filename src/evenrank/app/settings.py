"""Settings of the web app."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evenrank.app.signin.settings import SignInSettings
from evenrank.database.database import Location
from evenrank.ranking.subject import RELEVANCE_FLOOR
from evenrank.retrieval.model_choice import UNTRAINED, ModelChoice


@dataclass(frozen=True)
class WebSettings:
    """Everything that decides how the app answers, apart from the collection."""

    store: Location | None = None
    """SQLite file or PostgreSQL address of saved lists and draws; None for `desk.sqlite` in the collection's folder."""
    facts_folder: Path | None = None
    """Where counts of what articles have are kept; None for the collection's folder."""
    max_counted: int = 200_000
    """Up to this many articles, what each of them has is counted when the server starts."""
    public_url: str = ""
    """Address under which others reach the app, for links in exports; empty takes it from each request."""
    data_of: str = ""
    """How old the data are, in words; empty: the date of the files."""
    wiki_url: str = "https://en.wikipedia.org/wiki/"
    """Where titles link to."""
    wiki_api: str = ""
    """Address of the wiki's `api.php`, for categories, banners and links; empty without one."""
    wiki_contact: str = ""
    """How the wiki's operators reach whoever runs this server; part of the User-Agent."""
    wiki_site: str = "https://en.wikipedia.org/"
    """Site of `index.php`, for talk and history links."""
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    """Names that the Host header may have, besides that of `public_url`."""
    allows_addresses: bool = False
    """Whether the server may be asked by its address in numbers; no other site's name can lead there."""
    reload_seconds: float = 5.0
    """How often the server looks for a new import or index of its collection; 0 never looks."""
    judgments: Location | None = None
    """Judgments file, or PostgreSQL address of judgments, for the assessment pages; None leaves them out."""
    pool: Path | None = None
    """Pool file behind the judgments, for the organisers' leave-one-run-out test."""
    runs: tuple[Path, ...] = ()
    """Run files, for what the judgments do to their scores."""
    guidelines: Path | None = None
    """Text file on what counts as relevant; None for the usual guidelines."""
    sign_in: SignInSettings | None = None
    """Where people sign in; None for a server without accounts."""
    subjects: Path | None = None
    """Subjects without an article here, for lists of red links; None without them."""
    admins: tuple[str, ...] = ()
    """Accounts that see the administration page."""
    has_admin_link: bool = False
    """Whether a secret link leads there, too, for servers without accounts."""
    max_body_bytes: int = 2 * 1024 * 1024
    """Longest request body: about 50,000 titles."""
    reads_per_second: float = 100.0
    """Requests that one address may make in the long run; five times as many at once."""
    writes_per_second: float = 10.0
    """The same for requests that change something, which includes making a list."""
    n_expensive: int = 4
    """Expensive requests (previews, new lists and searches, trade-offs) that each worker answers at once."""
    n_waiting: int = 32
    """Expensive requests that may wait for their turn; further ones are asked to come back."""
    list_length: int = 1000
    """Articles in a work list."""
    rows_per_page: int = 100
    """Articles on one page of a list."""
    draw_length: int = 50
    """Articles in one draw of a saved search."""
    n_planned_draws: int = 100
    """Draws that are balanced together; after them the plan starts over."""
    model: ModelChoice = UNTRAINED
    """The relevance model behind lists and searches."""
    relevance_floor: float = RELEVANCE_FLOOR
    """A list ends where pages match less than this share of the best match, or have no keyword in the lead (twice the
    share: in the text); 0 fills it."""
    n_candidates: int = 2000
    """Pages of the plain search; those that the groups need come on top."""
