"""vLLM's own hashing behind the lesson's interface."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import cbor2
from vllm.lora.request import LoRARequest
from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
from vllm.sampling_params import SamplingParams
from vllm.utils import hashing
from vllm.v1.core import kv_cache_utils
from vllm.v1.core.kv_cache_utils import BlockHash, BlockHashWithGroupId
from vllm.v1.request import Request

import grader

sys.path.append(str(Path(__file__).parents[3]))
grader.__path__.append(str(Path(__file__).parents[2]))
kit = import_module("grader.adapters.kit")

PRELOAD = ("vllm.config", "vllm.v1.core.sched.scheduler", "vllm.v1.request")

MultiModalItem = tuple[str, int, int]

sha256 = hashing.sha256
sha256_cbor = hashing.sha256_cbor


def cbor_dumps(value: object) -> bytes:
    return cbor2.dumps(value, canonical=True)


def none_hash(hash_name: str, env: Mapping[str, str]) -> bytes:
    before = dict(os.environ)
    os.environ.pop("PYTHONHASHSEED", None)
    os.environ.update(env)
    try:
        kv_cache_utils.init_none_hash(hashing.get_hash_fn_by_name(hash_name))
        return kv_cache_utils.NONE_HASH
    finally:
        os.environ.clear()
        os.environ.update(before)


def hash_block_tokens(
    hash_name: str,
    parent: bytes | None,
    tokens: Sequence[int],
    extra_keys: tuple[object, ...] | None = None,
) -> bytes:
    none_hash(hash_name, {})
    function = hashing.get_hash_fn_by_name(hash_name)
    return kv_cache_utils.hash_block_tokens(function, parent, tokens, extra_keys)


def generate_block_hash_extra_keys(
    mm_features: Sequence[MultiModalItem],
    lora_name: str | None,
    cache_salt: str | None,
    start: int,
    end: int,
) -> tuple[object, ...] | None:
    request = _request([0], mm_features, lora_name, cache_salt, None)
    keys, _ = kv_cache_utils.generate_block_hash_extra_keys(request, start, end, 0)
    return keys


class RequestHashes:
    def __init__(
        self,
        hash_name: str,
        hash_block_size: int,
        prompt_token_ids: Sequence[int],
        mm_features: Sequence[MultiModalItem] = (),
        lora_name: str | None = None,
        cache_salt: str | None = None,
    ) -> None:
        self.hash_block_size = hash_block_size
        none_hash(hash_name, {})
        hasher = kv_cache_utils.get_request_block_hasher(
            hash_block_size, hashing.get_hash_fn_by_name(hash_name)
        )
        self._request = _request(prompt_token_ids, mm_features, lora_name, cache_salt, hasher)

    @property
    def block_hashes(self) -> list[bytes]:
        return list(self._request.block_hashes)

    def append(self, token_ids: Sequence[int]) -> None:
        self._request.append_output_token_ids(list(token_ids))


def _request(
    prompt_token_ids: Sequence[int],
    mm_features: Sequence[MultiModalItem],
    lora_name: str | None,
    cache_salt: str | None,
    block_hasher: object,
) -> Request:
    return Request(
        request_id="hashed",
        prompt_token_ids=list(prompt_token_ids),
        sampling_params=SamplingParams(max_tokens=1),
        pooling_params=None,
        mm_features=[
            MultiModalFeatureSpec(
                data=None,
                modality="image",
                identifier=identifier,
                mm_position=PlaceholderRange(offset=offset, length=length),
            )
            for identifier, offset, length in mm_features
        ],
        lora_request=LoRARequest(lora_name, 1, "/nowhere") if lora_name else None,
        cache_salt=cache_salt,
        block_hasher=block_hasher,
    )


def view(block_hashes: Sequence[bytes], scale: int) -> list[bytes]:
    hashes = [BlockHash(block_hash) for block_hash in block_hashes]
    return list(kv_cache_utils.BlockHashListWithBlockSize(hashes, 16, 16 * scale))


def resolve_block_sizes(
    group_block_sizes: Sequence[int], prefix_match_unit: int | None = None
) -> tuple[int, int]:
    config = kit.kv_cache_config_of(8, *group_block_sizes)
    vllm_config = SimpleNamespace(
        cache_config=SimpleNamespace(
            block_size=group_block_sizes[0],
            enable_prefix_caching=True,
            prefix_match_unit=prefix_match_unit,
        ),
        parallel_config=SimpleNamespace(decode_context_parallel_size=1),
        kv_transfer_config=None,
    )
    return kv_cache_utils.resolve_kv_cache_block_sizes(config, vllm_config)


def make_block_hash_with_group_id(block_hash: bytes, group_id: int) -> bytes:
    return kv_cache_utils.make_block_hash_with_group_id(BlockHash(block_hash), group_id)


def get_block_hash(key: bytes) -> bytes:
    return kv_cache_utils.get_block_hash(BlockHashWithGroupId(key))


def get_group_id(key: bytes) -> int:
    return kv_cache_utils.get_group_id(BlockHashWithGroupId(key))
