"""A real MediaWiki on loopback from Debian's package, with SQLite and PHP's own server.

`python -m tests.mediawiki` fetches it into `build/mediawiki`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen
from xml.sax.saxutils import escape

from evenrank.wikipedia.mediawiki.client import WikiClient, object_at, text
from evenrank.wikipedia.mediawiki.publish import Draft

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("EVENRANK_MEDIAWIKI", ROOT / "build" / "mediawiki"))
SOURCE = FOLDER / "source" / "usr" / "share" / "mediawiki"
BASE = FOLDER / "base"
"""A freshly installed wiki; every test wiki starts as a copy of its database."""
PACKAGES = ("mediawiki", "mediawiki-classes")
PHP_PACKAGES = ("php-cli", "php-sqlite3", "php-intl", "php-mbstring", "php-xml", "php-apcu")
ADMIN = ("Admin", "an-admin-password-1")
EDITOR = ("Editor", "an-editor-password-1")
"""A human who edits in between."""
BOT = ("Evenrank bot@desk", "0123456789abcdefghijklmnopqrstuv")
"""Signs in with a bot password, whose characters MediaWiki limits to 0-9 and a-v."""
N_WORKERS = "4"
MEMORY = Path("/dev/shm")
"""Where SQLite need not wait for a disk; imports take a sixth of the time there."""

LOCAL_SETTINGS = """<?php
$wgSitename = 'Test wiki';
$wgServer = getenv( 'WIKI_SERVER' ) ?: 'http://127.0.0.1';
$wgScriptPath = '/w';
$wgArticlePath = '/wiki/$1';
$wgDBtype = 'sqlite';
$wgDBserver = '';
$wgDBname = 'wiki';
$wgDBuser = '';
$wgDBpassword = '';
$wgSQLiteDataDir = getenv( 'WIKI_DATA' );
$wgMainCacheType = CACHE_NONE;
$wgMessageCacheType = CACHE_NONE;
$wgParserCacheType = CACHE_NONE;
$wgSessionCacheType = CACHE_DB;
$wgLanguageConverterCacheType = CACHE_NONE;
$wgLocalisationCacheConf = [ 'class' => LocalisationCache::class, 'store' => 'files',
    'storeDirectory' => getenv( 'WIKI_CACHE' ), 'storeClass' => false, 'manualRecache' => false ];
$wgSecretKey = str_repeat( 'a1', 32 );
$wgJobRunRate = 0;
$wgEnableUploads = false;
$wgUseInstantCommons = false;
$wgPasswordAttemptThrottle = [];
$wgRateLimits = [];
$wgShowExceptionDetails = true;
$wgNamespacesWithSubpages[NS_MAIN] = true;
wfLoadSkin( 'Vector' );
wfLoadExtensions( [ 'ParserFunctions', 'AbuseFilter', 'SpamBlacklist', 'ConfirmEdit' ] );
wfLoadExtension( 'ConfirmEdit/QuestyCaptcha' );
$wgCaptchaClass = 'QuestyCaptcha';
$wgCaptchaQuestions = [ 'What is the answer?' => '42' ];
$wgCaptchaTriggers = array_fill_keys( [ 'edit', 'create', 'addurl', 'createaccount', 'badlogin' ], false );
$wgBlacklistSettings = [ 'spam' => [ 'files' => [] ] ];
require getenv( 'WIKI_DATA' ) . '/overrides.php';
"""
BEARER = """<?php
use MediaWiki\\Session\\SessionBackend;
use MediaWiki\\Session\\SessionInfo;
use MediaWiki\\Session\\SessionProvider;
use MediaWiki\\Session\\UserInfo;
/** Bearer tokens of a provider of accounts, as the extension OAuth takes its own; Debian does not package it. */
class BearerSessionProvider extends SessionProvider {
    public function provideSessionInfo( WebRequest $request ) {
        if ( !preg_match( '/^Bearer (\\S+)$/', (string)$request->getHeader( 'Authorization' ), $found ) ) {
            return null;
        }
        $asked = stream_context_create( [ 'http' => [ 'header' => "Authorization: Bearer $found[1]" ] ] );
        $profile = json_decode( (string)@file_get_contents( 'PROFILE', false, $asked ), true );
        if ( !isset( $profile['username'] ) ) {
            return null;
        }
        return new SessionInfo( SessionInfo::MAX_PRIORITY, [
            'provider' => $this,
            'id' => $this->hashToSessionId( $found[1], 'a key' ),
            'userInfo' => UserInfo::newFromName( $profile['username'], true ),
            'persisted' => true,
            'forceUse' => true,
        ] );
    }
    public function persistsSessionId() { return false; }
    public function canChangeUser() { return false; }
    public function persistSession( SessionBackend $session, WebRequest $request ) {}
    public function unpersistSession( WebRequest $request ) {}
    public function getAllowedUserRights( SessionBackend $backend ) { return null; }
}
$wgSessionProviders['bearer'] = [ 'class' => BearerSessionProvider::class, 'args' => [] ];
"""
"""Settings with which the wiki accepts the bearer tokens of another provider of accounts."""
ROUTER = """<?php
if ( str_starts_with( parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH ), '/wiki/' ) ) {
    $_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/w/index.php';
    chdir( $_SERVER['DOCUMENT_ROOT'] . '/w' );
    require 'index.php';
    return;
}
return false;
"""


def missing() -> str | None:
    """Why no MediaWiki can be started here; None when one can."""
    if shutil.which("php") is None:
        return f"PHP is not installed: apt-get install {' '.join(PHP_PACKAGES)}"
    if not (SOURCE / "api.php").is_file():
        return "MediaWiki is not here: python -m tests.mediawiki"
    return None


def fetch() -> None:
    """Unpack Debian's package beside the project; installing it would bring a web server."""
    if (SOURCE / "api.php").is_file():
        return
    source = FOLDER / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    download = ["apt-get", "download", "-q", *PACKAGES]
    if subprocess.run(download, cwd=FOLDER, check=False).returncode:
        subprocess.run([*([] if os.geteuid() == 0 else ["sudo"]), "apt-get", "update", "-qq"], check=True)
        subprocess.run(download, cwd=FOLDER, check=True)
    for package in sorted(FOLDER.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(source)], check=True)
        package.unlink()
    for name, target in (("extensions", "extensions-core"), ("LocalSettings.php", None), ("config", None)):
        (SOURCE / name).unlink(missing_ok=True)
        if target:
            (SOURCE / name).symlink_to(target)


def preview(client: WikiClient, made: Draft) -> str:
    """Our part of a draft as the wiki would show it, in HTML."""
    fields = {"text": made.content, "title": made.title, "pst": "1", "prop": "text", "disablelimitreport": "1"}
    return text(object_at(client.call(action="parse", contentmodel="wikitext", **fields), "parse"), "text")


class MediaWiki:
    """A running wiki with pages of its own, in a temporary folder that `stop` removes."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="mediawiki-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
        self.folder, self.data = folder, folder / "data"
        self._install(self.data)
        self.port = _free_port()
        self.site = f"http://127.0.0.1:{self.port}/"
        self.api_url = f"{self.site}w/api.php"
        self._root = folder / "root"
        self._root.mkdir()
        (self._root / "w").symlink_to(SOURCE)
        (folder / "router.php").write_text(ROUTER)
        self._log = (folder / "php.log").open("wb")
        options = ["-d", "opcache.enable_cli=1", "-d", "opcache.revalidate_freq=0", "-d", "memory_limit=512M"]
        self._process = subprocess.Popen(
            ["php", *options, "-S", f"127.0.0.1:{self.port}", "-t", str(self._root), str(folder / "router.php")],
            env={**self._environment(), "PHP_CLI_SERVER_WORKERS": N_WORKERS},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self._wait()

    def configure(self, php: str) -> None:
        """Settings that hold until the next call, e.g. `$wgReadOnly = 'for a test';`."""
        (self.data / "overrides.php").write_text(f"<?php\n{php}\n")

    def accept_tokens_of(self, profile_url: str) -> None:
        """Take whoever has a bearer token for the account that the provider's profile names."""
        self.configure(BEARER.removeprefix("<?php\n").replace("PROFILE", profile_url))

    def maintain(self, script: str, *arguments: str, text: str = "") -> str:
        """Run a maintenance script; what it prints."""
        command = ["php", str(SOURCE / "maintenance" / f"{script}.php"), *arguments]
        return _run(command, self._environment(), text)

    def put(self, title: str, text: str, user: str = ADMIN[0]) -> None:
        """Write a page, without the API."""
        self.maintain("edit", "--user", user, "--no-rc", title, text=text)

    def import_pages(self, pages: Sequence[tuple[str, str]]) -> None:
        """Import many pages at once and bring categories, links and transclusions up to date."""
        records = "".join(
            f"<page><title>{escape(title)}</title><revision><timestamp>2020-01-01T00:00:00Z</timestamp>"
            f"<contributor><username>Importer</username></contributor><model>wikitext</model>"
            f"<format>text/x-wiki</format><text xml:space='preserve'>{escape(text)}</text></revision></page>"
            for title, text in pages
        )
        head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
        self.maintain("importDump", "--no-updates", text=f"{head}{records}</mediawiki>")
        self.maintain("refreshLinks")
        self.maintain("runJobs", "--maxjobs", "100000")

    def text(self, title: str) -> str:
        """The wikitext of a page."""
        return self.maintain("getText", title)

    def page_url(self, title: str) -> str:
        return f"{self.site}wiki/{quote(title.replace(' ', '_'))}"

    def stop(self) -> None:
        """End the server with its workers, and make sure that nothing answers any more."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()
        deadline = time.monotonic() + 10
        while _answers(self.port):
            if time.monotonic() > deadline:
                raise RuntimeError(f"something still answers on port {self.port}")
            time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _environment(self) -> dict[str, str]:
        return _environment(self.data, getattr(self, "site", "http://127.0.0.1/").rstrip("/"))

    def _install(self, data: Path) -> None:
        if not (BASE / "complete").is_file():
            _make_base()
        shutil.copytree(BASE, data)

    def _wait(self, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while True:
            try:
                with urlopen(f"{self.api_url}?action=query&meta=siteinfo&format=json", timeout=30):
                    return
            except (URLError, OSError):
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.1)


def _make_base() -> None:
    """Install the wiki once, with an admin, an editor and a bot."""
    shutil.rmtree(BASE, ignore_errors=True)
    BASE.mkdir(parents=True)
    environment = _environment(BASE, "http://127.0.0.1")
    install = ["--dbtype", "sqlite", "--dbname", "wiki", "--dbpath", str(BASE), "--confpath", str(BASE)]
    install += ["--server", "http://127.0.0.1", "--scriptpath", "/w", "--pass", ADMIN[1], "Test wiki", ADMIN[0]]
    _run(["php", str(SOURCE / "maintenance" / "install.php"), *install], {**os.environ})
    (BASE / "LocalSettings.php").write_text(LOCAL_SETTINGS)
    (BASE / "overrides.php").write_text("<?php\n")
    bot, _, purpose = BOT[0].partition("@")
    grants = "basic,editpage,createeditmovepage,highvolume"
    for name, *arguments in (
        ("update", "--quick"),
        ("createAndPromote", *EDITOR),
        ("createAndPromote", "--bot", bot, "unused-password-12"),
        ("createBotPassword", "--appid", purpose, "--grants", grants, bot, BOT[1]),
    ):
        _run(["php", str(SOURCE / "maintenance" / f"{name}.php"), *arguments], environment)
    (BASE / "complete").touch()


def _environment(data: Path, server: str) -> dict[str, str]:
    cache = FOLDER / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    own = {"MW_CONFIG_FILE": str(data / "LocalSettings.php"), "WIKI_DATA": str(data), "WIKI_SERVER": server}
    return {**os.environ, **own, "WIKI_CACHE": str(cache)}


def _run(command: list[str], environment: dict[str, str], text: str = "") -> str:
    done = subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    fetch()
