"""Web pages as text: what is read of them, and that no page takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.builtin.html_tokens import Tag, html_tokens
from engine.builtin.readable import decoded, readable

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be busy


def text_of(html: str) -> str:
    """The text; links lead to example.com, those within the page nowhere."""
    return readable(html, lambda link: None if not link or link.startswith("#") else f"https://example.com{link}").text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One   two\nthree</p><p>four", "One two three\n\nfour"),
        ("<h1>A <em>b</em></h1>c<h3> d </h3>", "# A b\n\nc\n\n### d"),
        ("<ul><li>x<li>y</ul>", "- x\n- y"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<pre>  a\n    b</pre>c   d", "  a\n    b\n\nc d"),
        ("<table><tr><th>k<th>v<tr><td>1<td>2</table>", "| k | v\n| 1 | 2"),
        (
            "<a href='/x?a=1&amp;b=2'>to <b>x</b></a>, <a href=#y>part</a>",
            "[to x](https://example.com/x?a=1&b=2), part",
        ),
        ("<a href=/x></a><a href=/y>y", "y"),
        ("5 < 6 &amp; 7 &gt; 6 &euro;&#8364;", "5 < 6 & 7 > 6 €€"),
        ("a<script>if (a < b) { '</p>' }</script>b<style>p{}</style>c<!-- d -->e", "abce"),
        ("a<SCRIPT SRC=x></Script >b", "ab"),
        ("a<svg><title>no</title><svg></svg>no</svg>b<svg/>c", "abc"),
        ("<noscript>turn it on</noscript><template>no</template>a", "a"),
        ("<textarea><b>raw</b></textarea>", "<b>raw</b>"),
        ("a<?php x ?>b<!doctype html>c</>d</ x>e", "abcde"),
        ("a<!-->b", "ab"),
        ("a<!-- never closed", "a"),
        ("a<b never closed", "a"),
        ("a<script>never closed", "a"),
        ("a" + "&#" + "1" * 5_000 + ";", "a&#" + "1" * 5_000 + ";"),
        ("<", "<"),
        ("", ""),
    ],
)
def test_a_page_reads_as_it_looks(html: str, text: str) -> None:
    """Blocks apart, lists and headings marked, nothing of what is not seen."""
    assert text_of(html) == text


def test_the_title_is_told_apart() -> None:
    """Wherever the head ends, and never that of a picture."""
    read = readable("<head><title>A &amp;\n <b></title><p>x<svg><title>no</title></svg>", lambda link: None)
    assert (read.title, read.text) == ("A & <b>", "x")


def test_attributes_are_read_however_they_are_written() -> None:
    """In quotes, without, without a value; the first of a name counts."""
    (tag,) = html_tokens("<A  HREF = 'x \"y' b=\"c'd\" e=f/g h i='' href=z / >")
    assert isinstance(tag, Tag)
    assert (tag.name, tag.is_end, tag.is_closed) == ("a", False, False)
    assert tag.attributes == {"href": 'x "y', "b": "c'd", "e": "f/g", "h": "", "i": ""}


@unhurried
@given(st.text(alphabet="<>/!-?&#;='\" \nabscript", max_size=60))
def test_every_text_is_read(html: str) -> None:
    """Whatever is in it, and the tokens hold no more than it has."""
    assert isinstance(text_of(html), str)
    assert sum(len(one) for one in html_tokens(html) if isinstance(one, str)) <= len(html)


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<a b='", "</", "<!", "<!--", "<!-", "<?", "&", "&#", "&#1", "<div>", "<a href=x>y", "<svg>", "</a",
     "<script></", "<style></style", "<a =", "<a\t", "<pre>", "<title>", "<svg></x>", " \n", "<svg></svg>"],
)  # fmt: skip
def test_no_page_takes_long(piece: str) -> None:
    """Work grows with a page's length alone: sixteen times the page is no hundred times the work."""
    small, large = piece * (8_000 // len(piece)), piece * (128_000 // len(piece))
    assert _seconds(large) < max(0.5, 100 * _seconds(small))


def _seconds(html: str) -> float:
    began = time.process_time()
    text_of(html)
    return time.process_time() - began


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("é".encode(), None, "é"),
        ("é".encode("latin-1"), "ISO-8859-1", "é"),
        ("é".encode("utf-16"), "utf-16", "é"),
        (b"\xef\xbb\xbfa", "utf-8", "a"),
        (b"\xff", None, "\N{REPLACEMENT CHARACTER}"),
        (b"a", "no-such-charset", "a"),
        (b"a", "utf-8\0", "a"),
        (b"\x1b$B$F\x1b(B", "iso-2022-jp", "\N{HIRAGANA LETTER TE}"),
        (b"6161", "hex", "6161"),
        (b"a-", "punycode", "a-"),
        (b"<meta charset=shift_jis>\x83\x65", None, "<meta charset=shift_jis>テ"),
        (b'<META content="text/html; charset=koi8-r">\xc1', None, '<META content="text/html; charset=koi8-r">а'),  # noqa: RUF001
    ],
)
def test_a_page_is_decoded_by_what_it_says(content: bytes, charset: str | None, text: str) -> None:
    """Else as UTF-8, and only by what is a charset."""
    assert decoded(content, charset, is_html=True) == text
