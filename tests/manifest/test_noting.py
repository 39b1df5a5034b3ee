"""The list of symbols, brought in line with a release."""

from __future__ import annotations

from trees_kit import NEW, OLD, POOL, symbol

from manifest.cited import cited
from manifest.noting import note
from manifest.symbols import Source, SourceFile

TAKE = f"{POOL}#Pool.take"


def test_a_symbol_is_added_and_the_rest_stays() -> None:
    before = {TAKE: symbol("Pool.take")}
    noted = note(before, Source(OLD), [f"{POOL}#Pool"])
    assert list(noted.symbols) == [f"{POOL}#Pool", TAKE]
    assert (noted.added, noted.changed, noted.dropped) == ((f"{POOL}#Pool",), (), ())


def test_all_others_may_be_forgotten() -> None:
    noted = note({TAKE: symbol("Pool.take")}, Source(OLD), [f"{POOL}#Pool"], only=True)
    assert list(noted.symbols) == [f"{POOL}#Pool"]
    assert noted.dropped == (TAKE,)


def test_another_source_changes_the_entry() -> None:
    noted = note({POOL: symbol("")}, Source(NEW), [POOL])
    assert noted.changed == (POOL,)


def test_what_the_source_has_not_is_told_and_not_kept() -> None:
    gone = f"{POOL}#Pool.gone"
    noted = note({gone: symbol("Pool.take")}, Source(OLD), [gone, "vllm/none.py"])
    assert noted.missing == (gone, "vllm/none.py")
    assert noted.symbols == {}


def test_a_tree_is_the_same_whatever_a_reader_of_the_code_is_told() -> None:
    plain = b"class A:\n    def f(self, n):\n        return n + 1\n"
    told = (
        b'class A:\n    """Text."""\n\n    # Why.\n    def f(\n        self,\n        n,\n    ):\n'
        b'        "More text."\n        return (n + 1)  # one more\n'
    )
    other = plain.replace(b"+ 1", b"+ 2")
    trees = [SourceFile("a.py", text).symbol("A.f").tree for text in (plain, told, other)]
    assert trees[0] == trees[1] != trees[2]


def test_where_the_course_cites_a_symbol_is_known() -> None:
    places = cited()["vllm/v1/core/block_pool.py#BlockPool.get_new_blocks"]
    assert "kv_cache/block_pool" in {place.lesson for place in places}
