"""The pages for browsers: the console and GraphiQL, built into console/dist; nothing comes from another host."""

from __future__ import annotations

import html
from pathlib import Path

from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

DIST = Path(__file__).resolve().parent.parent / "console" / "dist"

# The editor (monaco) writes styles of its own, starts its workers from files or blobs, and has its fonts inline.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
    "img-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FRESH = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
_KEPT = {"Content-Security-Policy": POLICY, "Cache-Control": "public, max-age=31536000, immutable"}


class Pages(StaticFiles):
    """The built pages; files in assets/ have their hash in their name, so browsers keep them for good."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, under the pages' policy."""
        response = await super().get_response(path, scope)
        response.headers.update(_KEPT if path.startswith("assets/") and response.status_code == 200 else _FRESH)
        return response


def are_built(dist: Path = DIST) -> bool:
    """Whether the pages were built."""
    return (dist / "index.html").is_file()


def graphiql(dist: Path = DIST) -> Response:
    """The page that a browser is shown at /graphql; where it was not built, one that says what is missing."""
    return FileResponse(dist / "index.html", headers=_FRESH) if are_built(dist) else missing()


def missing() -> Response:
    """What to do where the pages were not built, and that the API works without them."""
    return HTMLResponse(_MISSING, headers=_FRESH)


_EXAMPLE = """curl -s http://127.0.0.1:8000/graphql -H 'Content-Type: application/json' \\
  -d '{"query": "{ viewer { id } }"}'"""

_MISSING = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steersman</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem }}
pre {{ overflow-x: auto; padding: 1rem; background: #8881 }}</style></head>
<body>
<h1>GraphiQL is not built yet</h1>
<p>The server runs, and the API works. Only its pages are missing: they need Node 20.19 or newer. Install it, run
<code>make setup</code>, and start the server again.</p>
<p>Until then, any GraphQL client reaches the API at <code>/graphql</code>:</p>
<pre>{html.escape(_EXAMPLE)}</pre>
</body>
</html>
"""
