"""What is checked of attachments before anything is stored."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from engine.attachments import limits
from engine.attachments.checking import Checked, check_bounds, checked
from engine.attachments.given import Given
from engine.errors import AttachmentRefused
from tests.support.pictures import encoded, noise, pdf, picture, written

PNG = picture()
MEDIA_TYPES = {
    "image/png": PNG,
    "image/jpeg": picture("JPEG"),
    "image/gif": picture("GIF", mode="P"),
    "image/webp": picture("WEBP"),
    "application/pdf": pdf(),
}


def one(data: bytes, media_type: str | None = None, name: str | None = None) -> Checked:
    """The one attachment, checked."""
    return checked([Given(encoded(data), media_type, name)])[0]


def refused(data: str | bytes, media_type: str | None = None, name: str | None = None) -> AttachmentRefused:
    """Why the second of two attachments is refused."""
    with pytest.raises(AttachmentRefused) as caught:
        checked([Given(PNG), Given(data, media_type, name)])
    return caught.value


def bomb(width: int, height: int) -> bytes:
    """A PNG whose head promises so many pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    body = chunk(b"IDAT", zlib.compress(b"\0" * 10_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_each_kind_is_taken_as_it_is(media_type: str) -> None:
    """What the provider takes is stored byte for byte, whether its type is named or found."""
    data = MEDIA_TYPES[media_type]
    found = one(data)
    for said in (media_type, media_type.upper(), f"{media_type}; charset=binary"):
        assert one(data, said) == found
    assert (found.data, found.media_type) == (data, media_type)
    pages = 1 if media_type == "application/pdf" else None
    size = (None, None) if pages else (40, 30)
    assert ((found.width, found.height), found.pages) == (size, pages)


def test_a_common_misnomer_is_understood() -> None:
    """image/jpg is no media type, and yet what many send."""
    assert one(MEDIA_TYPES["image/jpeg"], "image/jpg").media_type == "image/jpeg"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("%%%", "not base64"),
        ("aGk", "not base64"),  # without its padding
        ("aG\nk=", "not base64"),
        ("é" * 4, "not base64"),
        ("data:image/png;base64,aGk=", "`data:` URL"),
        ("", "empty"),
        (encoded(b"just a text"), "none of image/png"),
        (encoded(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), "none of image/png"),
        (encoded(b"BM" + b"\0" * 60), "none of image/png"),
        (encoded(PNG[:60]), "broken"),
        (encoded(PNG[:8]), "broken"),
        (encoded(noise()[:-2000]), "broken"),
        (encoded(MEDIA_TYPES["image/jpeg"][:100]), "broken"),
        (encoded(b"GIF89a" + b"\xff" * 40), "broken"),
        (encoded(b"RIFF\0\0\0\0WEBPVP8 "), "broken"),
        (encoded(bomb(7_000, 7_000)), "pixels"),
        (encoded(bomb(11_000, 11_000)), "pixels"),
        (encoded(bomb(60_000, 60_000)), "pixels"),
        (encoded(b"%PDF-1.7\nnothing more"), "PDF is broken"),
        (encoded(pdf()[:200]), "PDF is broken"),
        (encoded(pdf(password="secret")), "encrypted"),
        (encoded(pdf(101)), "more than 100 pages"),
    ],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")  # as where warnings are no errors
def test_what_a_provider_would_refuse_is_refused_here(data: str, words: str) -> None:
    """What is no base64, no such file, broken, locked or too large is told from the rest, with its place."""
    error = refused(data)
    assert words in error.message
    assert error.field == ("attachments", "1", "data")


def test_an_image_that_says_it_is_another_kind_is_refused() -> None:
    """The declared type must agree with what the content is; the message names both."""
    error = refused(PNG, "image/jpeg")
    assert error.field == ("attachments", "1", "media_type")
    assert "image/png" in error.message
    assert "image/jpeg" in error.message
    assert refused(pdf(), "image/png").field == ("attachments", "1", "media_type")


def test_a_png_of_6_megabytes_is_made_small_enough() -> None:
    """An image over the provider's 5 MB, as it is sent, is written anew; its hash as given stays known."""
    given = noise(size=(1_500, 1_400))
    assert len(given) > 6_000_000
    found = one(given, "image/png")
    assert limits.encoded_length(len(found.data)) <= limits.MAX_IMAGE_ENCODED
    assert (found.width, found.height, found.media_type) == (1_500, 1_400, "image/jpeg")
    assert Image.open(io.BytesIO(found.data)).size == (1_500, 1_400)
    assert found.given_sha256 != found.sha256


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_large_image_is_scaled_to_what_a_model_is_shown(kind: str) -> None:
    """A long side over 1,568 pixels becomes that, the other in proportion."""
    found = one(picture(kind, (3_136, 1_000)))
    assert (found.width, found.height) == (1_568, 500)
    assert Image.open(io.BytesIO(found.data)).size == (1_568, 500)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK"])
def test_every_mode_can_be_scaled(mode: str) -> None:
    """Grey, palettes, transparency, 16 bits and print colours all come out as an image that can be read."""
    kind = "JPEG" if mode == "CMYK" else "PNG"
    image = Image.new("L", (2_000, 20), 3).convert("RGB").convert("CMYK") if mode == "CMYK" else None
    found = one(written(image or Image.new(mode, (2_000, 20)), kind))
    Image.open(io.BytesIO(found.data)).load()
    assert found.width == 1_568


def test_transparency_is_kept_where_an_image_is_made_smaller() -> None:
    """An image with an alpha channel keeps it, in a format that has one."""
    found = one(noise(size=(1_500, 1_400), mode="RGBA"))
    assert found.media_type == "image/webp"
    assert Image.open(io.BytesIO(found.data)).mode == "RGBA"


def test_a_photograph_that_lies_on_its_side_is_put_upright() -> None:
    """The orientation that a camera notes is applied before the note is lost."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    found = one(picture("JPEG", (2_000, 1_000), exif=exif))
    assert (found.width, found.height) == (784, 1_568)


def test_more_than_20_attachments_are_refused() -> None:
    """20 are taken, 21 are not, before any is looked at."""
    check_bounds([Given("x")] * 20)
    with pytest.raises(AttachmentRefused, match="at most 20") as caught:
        check_bounds([Given("x")] * 21)
    assert caught.value.field == ("attachments",)


def test_too_much_altogether_is_refused_before_it_is_decoded() -> None:
    """The characters of base64 are counted as they come."""
    check_bounds([Given("x" * 14_000_000)] * 2)
    with pytest.raises(AttachmentRefused, match="28,000,000"):
        check_bounds([Given("x" * 14_000_000), Given("x" * 14_000_001)])
    with pytest.raises(AttachmentRefused, match="28,000,000"):
        check_bounds([Given(b"x" * 21_000_001)])


def test_pdfs_count_their_pages_together() -> None:
    """100 pages fit into one request to a model, in however many documents."""
    assert [one.pages for one in checked([Given(pdf(50)), Given(pdf(50))])] == [50, 50]
    with pytest.raises(AttachmentRefused, match="more than 100 pages") as caught:
        checked([Given(pdf(50)), Given(pdf(51))])
    assert caught.value.field == ("attachments",)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("cat.png", "cat.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\pictures\\cat.png", "cat.png"),
        (" a\0b\u202egnp.exe \n", "a\ufffdb gnp.exe"),
        ("  ", None),
        ("folder/", None),
        (None, None),
    ],
)
def test_a_name_is_kept_without_folders_and_odd_characters(name: str | None, kept: str | None) -> None:
    """What could mislead a disk or a reader is taken from the name."""
    assert one(PNG, name=name).name == kept


def test_a_name_that_is_too_long_is_refused() -> None:
    """255 characters fit."""
    assert one(PNG, name="x" * 255).name == "x" * 255
    assert refused(PNG, name="x" * 256).field == ("attachments", "1", "name")


def test_a_tree_of_pages_without_end_is_given_up() -> None:
    """A PDF whose pages lead back to themselves is refused in a moment."""
    looped = pdf().replace(b"/Type /Page\n", b"/Kids [2 0 R 2 0 R 1 0 R 1 0 R]\n/Type /Pages\n")
    assert looped != pdf()
    assert refused(looped).message in ("The PDF is broken, or was cut off.", "The PDF has more than 100 pages.")
