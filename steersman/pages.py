"""The pages for browsers: the console and GraphiQL, built into console/dist; nothing comes from another host.

The console is one page that finds its way by the address: whatever lies below /console/ and is no file is answered with
it. GraphiQL is another, with a policy of its own. The build lays compressed twins beside its files (`FILE.br`,
`FILE.gz`), which browsers get that take them.
"""

from __future__ import annotations

import html
import mimetypes
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from starlette.datastructures import Headers
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

DIST = Path(__file__).resolve().parent.parent / "console" / "dist"
CONSOLE = "index.html"
GRAPHIQL = "graphiql.html"

_OURS_ALONE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def graphiql_policy(sign_in: Sequence[str] = ()) -> str:
    """GraphiQL's policy: its editor (monaco) writes styles, starts workers from files or blobs, and has fonts inline.

    `sign_in` are the origins where its tokens are renewed.
    """
    return (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
        f"img-src 'self' data:; {_asked(sign_in)}; worker-src 'self' blob:; {_OURS_ALONE}"
    )


# From the best to the one that everything takes.
_ENCODINGS = {"br": ".br", "gzip": ".gz"}


def console_policy(sign_in: Sequence[str] = ()) -> str:
    """The console's policy. Agents' pictures may be anywhere; `sign_in` are the origins of who signs users in.

    `blob:` are attachments, which are fetched with the token that an image's address can't carry.
    """
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob: https:; "
        f"{_asked(sign_in)}; {_OURS_ALONE}"
    )


def _asked(origins: Sequence[str]) -> str:
    return " ".join(["connect-src 'self'", *origins])


class Pages(StaticFiles):
    """The built pages; files in assets/ have their hash in their name, so browsers keep them for good."""

    def __init__(self, directory: Path, *, sign_in: Sequence[str] = ()) -> None:
        super().__init__(directory=directory)
        self._policies = {GRAPHIQL: graphiql_policy(sign_in)}
        self._policy = console_policy(sign_in)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, or the page that the address is one of."""
        file = self._file(path)
        response = await self._encoded(file, scope)
        kept = file.startswith("assets/")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if kept else "no-cache"
        response.headers["Content-Security-Policy"] = self._policies.get(file, self._policy)
        return response

    def _file(self, path: str) -> str:
        """The path of the file that answers; a file that is not there is left for a 404."""
        name = path.replace(os.sep, "/")
        if name == "graphiql":
            return GRAPHIQL
        is_route = not PurePosixPath(name).suffix and not name.startswith("assets/")
        return CONSOLE if is_route else name

    async def _encoded(self, file: str, scope: Scope) -> Response:
        """The file as the browser takes it: its twin has the same type, and a tag of its own."""
        taken = _taken(Headers(scope=scope).get("accept-encoding", ""))
        for encoding, suffix in _ENCODINGS.items():
            if encoding in taken and self._is_there(file + suffix):
                response = await super().get_response(file + suffix, scope)
                response.headers["Content-Encoding"] = encoding
                response.headers["Content-Type"] = _type_of(file)
                break
        else:
            response = await super().get_response(file, scope)
        response.headers["Vary"] = "Accept-Encoding"
        return response

    def _is_there(self, file: str) -> bool:
        _, stat = self.lookup_path(file)
        return stat is not None and S_ISREG(stat.st_mode)


def are_built(dist: Path = DIST) -> bool:
    """Whether the pages were built."""
    return (dist / CONSOLE).is_file()


def graphiql(dist: Path = DIST, sign_in: Sequence[str] = ()) -> Response:
    """The page that a browser is shown at /graphql; where it was not built, one that says what is missing."""
    if not are_built(dist):
        return missing()
    return FileResponse(dist / GRAPHIQL, headers=_fresh(graphiql_policy(sign_in)))


def missing() -> Response:
    """What to do where the pages were not built, and that the API works without them."""
    return HTMLResponse(_MISSING, headers=_fresh(graphiql_policy()))


def _fresh(policy: str) -> dict[str, str]:
    return {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}


def _taken(accepted: str) -> set[str]:
    """The encodings that an Accept-Encoding header takes; `q=0` is a refusal."""
    given = (each.partition(";") for each in accepted.split(","))
    return {name.strip().lower() for name, _, rest in given if rest.replace(" ", "") not in {"q=0", "q=0.0"}}


def _type_of(file: str) -> str:
    kind = mimetypes.guess_type(file)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


_EXAMPLE = """curl -s http://127.0.0.1:8000/graphql -H 'Content-Type: application/json' \\
  -d '{"query": "{ viewer { id } }"}'"""

_MISSING = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steersman</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem }}
pre {{ overflow-x: auto; padding: 1rem; background: #8881 }}</style></head>
<body>
<h1>The console is not built yet</h1>
<p>The server runs, and the API works. Only its pages are missing: they need Node 20.19 or newer. Install it, run
<code>make setup</code>, and start the server again.</p>
<p>Until then, any GraphQL client reaches the API at <code>/graphql</code>:</p>
<pre>{html.escape(_EXAMPLE)}</pre>
</body>
</html>
"""
