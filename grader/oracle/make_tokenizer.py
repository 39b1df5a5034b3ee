"""Makes `reference/data/tokenizer.json` from the text beside it.

    .oracle/venv/bin/python grader/oracle/make_tokenizer.py

A byte-level BPE in the format of the `tokenizers` library, which the real vLLM reads as it is. The
library is part of the oracle's environment; the course itself needs only what it has made.
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

DATA = Path(__file__).parents[2] / "reference" / "data"
VOCAB_SIZE = 1000
SPECIAL_TOKENS = ("<|user|>", "<|assistant|>", "<|endoftext|>")
#: Words, numbers, ends of lines and the rest, a blank before each as part of it. Written so that
#: every engine of regular expressions reads it alike.
PATTERN = r" ?[A-Za-z]+| ?[0-9]+|\n+| ?[^ A-Za-z0-9\n]+| +"


def make(text: str) -> Tokenizer:
    """The tokenizer learned from a text, its special tokens last."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE - len(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL_TOKENS])
    return tokenizer


def main() -> None:
    tokenizer = make((DATA / "tokenizer.txt").read_text(encoding="utf-8"))
    data = json.loads(tokenizer.to_str())
    lines = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    (DATA / "tokenizer.json").write_text(lines + "\n", encoding="utf-8")
    print(f"{tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    main()
