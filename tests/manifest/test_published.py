"""A release read from an index over HTTP: parts of a wheel, checked and kept; and all faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from local_index import EXTRA, NEW, OLD, Heard, LocalIndex, Opened, content, wheel

from manifest.errors import (
    BadArchive,
    NoSuchFile,
    NoSuchRelease,
    Offline,
    TimedOut,
    WrongHash,
    YankedRelease,
)

POOL = "vllm/core/pool.py"
WHEEL = f"vllm-{OLD}-cp38-abi3-manylinux_2_28_x86_64.whl"


def test_a_file_is_read_from_the_wheel_in_parts(opened: Opened, index: LocalIndex) -> None:
    assert opened(cited={POOL: _sha256(OLD)}).read(POOL) == content(OLD, POOL)
    tail, one = index.wheels_asked()
    assert tail.startswith("bytes=-")
    first, last = one.removeprefix("bytes=").split("-")
    assert int(last) - int(first) < len(content(OLD, POOL)) + 200


def test_an_index_page_in_html_serves_too(opened: Opened, index: LocalIndex) -> None:
    index.faults.as_html = True
    assert opened().read(POOL) == content(OLD, POOL)


def test_what_was_read_once_is_kept(opened: Opened, index: LocalIndex) -> None:
    opened().read(POOL)
    names = opened().names()
    index.stop()
    assert opened().read(POOL) == content(OLD, POOL)
    assert opened().names() == names
    assert POOL in names
    assert "vllm/kernels.so" in names


def test_releases_are_kept_apart(opened: Opened) -> None:
    assert opened(OLD).read(POOL) == content(OLD, POOL)
    assert opened(NEW).read(POOL) == content(NEW, POOL)


def test_a_spoilt_kept_file_is_fetched_anew(opened: Opened, tmp_path: Path) -> None:
    opened().read(POOL)
    kept = tmp_path / "cache" / "vllm" / OLD / "wheel" / POOL
    kept.write_bytes(b"something else")
    assert opened().read(POOL) == content(OLD, POOL)


def test_a_cache_that_cannot_be_written_is_no_obstacle(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, no folder")
    assert opened().read(POOL) == content(OLD, POOL)


def test_without_a_network_one_line_says_how_to_fetch_ahead(
    opened: Opened, index: LocalIndex
) -> None:
    index.stop()
    with pytest.raises(Offline) as caught:
        opened().read(POOL)
    assert "vllmlings source --all-cited" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_index_in_trouble_is_told(opened: Opened, index: LocalIndex) -> None:
    index.faults.status = 503
    with pytest.raises(Offline, match="it answers 503"):
        opened().read(POOL)


def test_a_page_that_is_none_is_told(opened: Opened, index: LocalIndex) -> None:
    index.faults.nonsense = True
    with pytest.raises(BadArchive, match="it is no index page"):
        opened().read(POOL)


@pytest.mark.parametrize("what", ["cited file", "file of the wheel", "wheel on the index"])
def test_what_the_manifest_does_not_know_is_not_given(
    opened: Opened, index: LocalIndex, tmp_path: Path, what: str
) -> None:
    if what == "cited file":
        release = opened(cited={POOL: "0" * 64})
    elif what == "file of the wheel":
        release = opened()
        index.faults.other_bytes[WHEEL] = index.files[WHEEL].replace(b"class", b"klass")
    else:
        release = opened()
        index.files[WHEEL] = index.files[WHEEL] + b" "
    with pytest.raises((WrongHash, BadArchive)):
        release.read(POOL)
    assert not list(tmp_path.glob("cache/**/pool.py"))


def test_a_wheel_with_a_list_of_its_own_is_found_out(opened: Opened, index: LocalIndex) -> None:
    release = opened()
    index.faults.other_bytes[WHEEL] = wheel(OLD, tree=NEW)
    with pytest.raises(WrongHash, match="RECORD"):
        release.read(POOL)


def test_an_answer_cut_short_is_told_and_not_kept(
    opened: Opened, index: LocalIndex, tmp_path: Path
) -> None:
    index.faults.cut_short = True
    with pytest.raises(BadArchive, match="try again"):
        opened(NEW).read(POOL)
    assert not list(tmp_path.glob("cache/**/pool.py"))


@pytest.mark.parametrize("where", ["page", "wheel"])
def test_who_does_not_answer_in_time_is_not_waited_for(
    opened: Opened, index: LocalIndex, where: str
) -> None:
    setattr(index.faults, "seconds" if where == "wheel" else "page_seconds", 0.6)
    with pytest.raises(TimedOut, match=r"no answer within 0.2 s"):
        opened(timeout=0.2).read(POOL)


def test_a_release_that_is_not_there_is_told_with_the_newest(opened: Opened) -> None:
    with pytest.raises(NoSuchRelease, match=f"its newest is {NEW}"):
        opened("9.9.9").read(POOL)


def test_a_file_that_is_not_there_is_told_with_what_is_like_it(opened: Opened) -> None:
    with pytest.raises(NoSuchFile) as caught:
        opened().read("vllm/core/pol.py")
    assert caught.value.near[0] == POOL


def test_a_withdrawn_release_named_exactly_is_read_with_a_warning(
    opened: Opened, index: LocalIndex, heard: Heard
) -> None:
    index.faults.yanked = {NEW}
    assert opened(NEW).read(POOL) == content(NEW, POOL)
    assert heard.lines == [f"vllm {NEW} was withdrawn: it was broken"]


def test_a_withdrawn_release_is_not_the_newest(opened: Opened, index: LocalIndex) -> None:
    assert opened().index.newest() == NEW
    index.faults.yanked = {NEW}
    assert opened().index.newest() == OLD
    index.faults.yanked = {OLD, NEW}
    with pytest.raises(YankedRelease, match="it was broken"):
        opened().index.newest()


def test_what_only_the_source_distribution_has_is_fetched_once_with_a_word_about_its_size(
    opened: Opened, index: LocalIndex, heard: Heard
) -> None:
    release = opened()
    assert release.read("csrc/kernel.cu") == EXTRA["csrc/kernel.cu"]
    assert release.read("tests/test_pool.py") == EXTRA["tests/test_pool.py"]
    assert "csrc/kernel.cu" in release.names()
    [line] = heard.lines
    assert line == f"Fetching the source of vLLM {OLD}, 0 MB, once (only there)."
    come, size = heard.progress[-1]
    assert come == size
    index.stop()
    assert opened().read("csrc/kernel.cu") == EXTRA["csrc/kernel.cu"]


def test_a_wrong_source_distribution_is_not_kept(
    opened: Opened, index: LocalIndex, tmp_path: Path
) -> None:
    index.faults.other_bytes[f"vllm-{OLD}.tar.gz"] = index.files[f"vllm-{NEW}.tar.gz"]
    with pytest.raises(WrongHash):
        opened().read("csrc/kernel.cu")
    index.faults.other_bytes.clear()
    index.faults.cut_whole = True
    with pytest.raises(BadArchive):
        opened().read("csrc/kernel.cu")
    assert not list(tmp_path.glob("cache/**/*.zip"))


def test_a_server_without_ranges_is_asked_for_the_source_distribution(
    opened: Opened, index: LocalIndex, heard: Heard
) -> None:
    index.faults.no_ranges = True
    release = opened()
    assert release.read(POOL) == content(OLD, POOL)
    assert POOL in release.names()
    assert "gives no parts" in heard.lines[0]
    with pytest.raises(WrongHash):
        opened(cited={POOL: "0" * 64}).read(POOL)


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "vllm/../../x.py"])
def test_no_path_leads_out_of_a_release(opened: Opened, path: str) -> None:
    with pytest.raises(NoSuchFile):
        opened().read(path)


@pytest.mark.parametrize("version", ["../1.0.0", "newest one", "1/0"])
def test_what_is_no_version_is_no_release(opened: Opened, version: str) -> None:
    with pytest.raises(NoSuchRelease):
        opened(version)
    assert opened(f"v{OLD}").version == OLD


def test_the_pins_of_a_release_are_what_the_index_has(opened: Opened, index: LocalIndex) -> None:
    new = opened(NEW).pins()
    wanted = index.pins(NEW)
    assert (new.version, new.wheel, new.sdist) == (NEW, wanted.wheel, wanted.sdist)
    assert new.main == index.pins(OLD).main


def _sha256(version: str) -> str:
    from hashlib import sha256

    return sha256(content(version, POOL)).hexdigest()
