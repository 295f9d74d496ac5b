"""The operations of TTIR as tt-mlir writes them: their operands and attributes, one row each.

A row is `names | operands | attributes`. An operand with `?` may be missing, one with `*` is a
list. An attribute has a kind (int, ints, bool, float, text, or number: int or float); one with a
default may be missing. In destination-passing style the results' buffers come after the operands,
in all rows. The `dtype` of a typecast is its result's. passes/graph/ttir_to_ttir_decomposition has
the meanings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# Attributes of a window over images: one number for both dimensions, or height and width.
_CONVOLUTION = (
    "stride: ints, padding: ints, dilation: ints, groups: int, "
    "batch_dim: int = 0, height_dim: int = 1, width_dim: int = 2, channel_dim: int = 3, "
    "flattened_compat_info: text = none, channel_last: int = 1"
)
_POOL = (
    "kernel: ints, stride: ints, dilation: ints, padding: ints, ceil_mode: bool, "
    "flattened_compat_info: text = none"
)
_DOT = (
    "batch_dims_lhs: ints, contract_dims_lhs: ints, batch_dims_rhs: ints, contract_dims_rhs: ints"
)
_ADAMW = (
    "lr: float, beta1: float, beta2: float, beta1_pow: float, beta2_pow: float, epsilon: float, "
    "weight_decay: float, stochastic_rounding: bool = false"
)
_REDUCTION = "keep_dim: bool, dim_arg: ints = all"

_ROWS = f"""
abs acos acosh asin asinh atan atanh bitwise_not cbrt ceil cos erf erfc exp exp2 expm1 floor | input |
frac hardsigmoid isfinite log log1p logical_not mish neg reciprocal relu relu6 rsqrt | input |
sigmoid sign signbit silu sin softsign sqrt square tan tanh trunc | input |
gelu | input | approximate: text = none
selu | input | alpha: float = 1.6732632423543772, scale: float = 1.0507009873554805
leaky_relu | input | parameter: float
typecast | input | conservative_folding: bool = false, dtype: text = none
bitcast_convert | input |
add atan2 bitwise_and bitwise_or bitwise_xor div eq ge gt le logical_and | lhs rhs |
logical_left_shift logical_or logical_right_shift logical_xor lt maximum minimum | lhs rhs |
multiply ne pow remainder right_shift subtract | lhs rhs |
where | condition on_true on_false |
sum mean max min prod reduce_and reduce_or argmax | input | {_REDUCTION}
matmul | a b | transpose_a: bool = false, transpose_b: bool = false
linear | a b bias? | transpose_a: bool = false, transpose_b: bool = false
linear | a b bias? | {_DOT}
dot_general | lhs rhs | {_DOT}
softmax | input | dimension: int, numericStable: bool = false
transpose | input | dim0: int, dim1: int
permute | input | permutation: ints
reshape | input | shape: ints
squeeze unsqueeze | input | dim: int
broadcast | input | broadcast_dimensions: ints
concat | inputs* | dim: int
repeat | input | repeat_dimensions: ints
repeat_interleave | input | repeats: int, dim: int
slice_static | input | begins: ints, ends: ints, step: ints
index | input | dim: int, begin: int, end: int, step: int
index_select | input | dim: int, begin: int, length: int, stride: int = 0
pad | input | padding: ints, value: number
reverse | input | dimensions: ints
clamp_scalar | input | min: number, max: number
clamp_tensor | input min max |
embedding | input weight |
gather | input index | dim: int
scatter | input index source | dim: int, scatter_reduce_type: text
gather | input start_indices | offset_dims: ints, collapsed_slice_dims: ints, operand_batching_dims: ints, start_indices_batching_dims: ints, start_index_map: ints, index_vector_dim: int, slice_sizes: ints, indices_are_sorted: bool
scatter | input scatter_indices update | update_window_dims: ints, inserted_window_dims: ints, input_batching_dims: ints, scatter_indices_batching_dims: ints, scatter_dims_to_operand_dims: ints, index_vector_dim: int, indices_are_sorted: bool, unique_indices: bool
scatter_in_dim | input index source | dim: int
cumsum cumprod | input | dim: int
sort | input | dim: int = -1, descending: bool = false, stable: bool = false
topk | input_tensor | k: int, dim: int = -1, largest: bool = true, sorted: bool = false
batch_norm_inference | operand scale offset mean variance | epsilon: float, dimension: int
batch_norm_training | operand scale offset running_mean running_variance | epsilon: float, dimension: int, momentum: float
layer_norm rms_norm | input weight? bias? | normalized_shape: ints, epsilon: float = 1e-05
group_norm | input input_mask? weight? bias? | num_groups: int, epsilon: float = 1e-12, channel_dim: int = 3
conv2d | input weight bias? | {_CONVOLUTION}
conv_transpose2d | input weight bias? | {_CONVOLUTION}, output_padding: ints
conv1d | input weight bias? | stride: ints, padding: ints, dilation: ints, groups: int, batch_dim: int = 0, length_dim: int = 1, channel_dim: int = 2
conv3d | input weight bias? | stride: ints, padding: ints, groups: int, batch_dim: int = 0, depth_dim: int = 1, height_dim: int = 2, width_dim: int = 3, channel_dim: int = 4, padding_mode: text = zeros
max_pool2d max_pool2d_with_indices | input | {_POOL}, channel_last: int = 1
avg_pool2d | input | {_POOL}, count_include_pad: bool = true
global_avg_pool2d | input |
upsample2d | input | scale_factor: ints, mode: text = nearest, channel_last: int = 1
zeros ones | | shape: ints
full | | shape: ints, fill_value: number
arange | | start: int, end: int, step: int, arange_dimension: int
concatenate_heads | input |
update_cache | cache input update_index | batch_offset: int
fill_cache | cache input | batch_offset: int
paged_update_cache | cache input update_index page_table? | share_cache: bool = false
paged_fill_cache | cache input page_table batch_idx_tensor? |
slice_dynamic | input begins ends | step: ints = none
get_dimension_size | operand | dimension: int
gelu_bw | lhs rhs | approximate: text = none
embedding_backward | input weight in_gradient |
adamw | param grad exp_avg exp_avg_sq max_exp_avg_sq? | {_ADAMW}
rand | | size: ints, low: float = 0.0, high: float = 1.0, seed: int = 0
dropout | input | prob: float = 0.0, scale: float = 1.0, seed: int = 0, use_per_device_seed: bool = true
mesh_shard | input | shard_type: text, shard_direction: text, shard_shape: ints, shard_dims: ints
all_gather | input | all_gather_dim: int, cluster_axis: int
all_reduce all_reduce_async | input | reduce_type: text, cluster_axis: int
reduce_scatter | input | reduce_type: text, scatter_dim: int, cluster_axis: int
mesh_partition | input | dim: int, cluster_axis: int = none
all_to_all | input | split_dim: int, concat_dim: int, split_count: int, replica_groups: ints
collective_permute | input | source_target_pairs: ints
collective_broadcast | input | replica_groups: ints
quantize dequantize requantize | input |
quantize_unrolled dequantize_unrolled | input scale zero_point | axis: int = none
requantize_unrolled | input in_scale in_zero_point out_scale out_zero_point | axis: int = none
split_query_key_value_and_split_heads | input_tensor kv_input_tensor? | num_heads: int, num_kv_heads: int = none, transpose_key: bool
sdpa_fw | query key value attention_mask? | mask_type: text = causal, dropout_probability: float = 0.0, return_intermediates: bool = false
scaled_dot_product_attention_decode | query key value attention_mask? cur_pos_tensor attention_sink? | is_causal: bool = true, scale: float = none
scaled_dot_product_attention | query key value attention_mask? attention_sink? | is_causal: bool = true, scale: float = none, sliding_window_size: int = none
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute; REQUIRED if it has no default."""

    kind: str
    default: object


REQUIRED = object()
_WORDS: dict[str, object] = {"true": True, "false": False, "none": None, "all": None}
_NUMBERS = {"int": int, "float": float}


@dataclass(frozen=True, slots=True)
class TtirForm:
    """The operands and attributes of an operation."""

    name: str
    operands: tuple[str, ...]  # without their marks
    optional: frozenset[str]
    is_list: bool
    attributes: dict[str, Field]


def _field(text: str) -> tuple[str, Field]:
    name, _, rest = text.partition(": ")
    kind, has_default, default = rest.partition(" = ")
    if not has_default:
        return name, Field(kind, REQUIRED)
    read = _NUMBERS.get(kind, str)
    return name, Field(kind, _WORDS[default] if default in _WORDS else read(default))


def _forms() -> Iterator[TtirForm]:
    for line in _ROWS.strip().splitlines():
        names, operands, attributes = (part.strip() for part in line.split("|"))
        words = operands.split()
        fields = dict(map(_field, attributes.split(", "))) if attributes else {}
        optional = frozenset(word[:-1] for word in words if word.endswith("?"))
        for name in names.split():
            plain = tuple(word.rstrip("?*") for word in words)
            yield TtirForm(name, plain, optional, operands.endswith("*"), fields)


# The current form of each operation first, then its earlier forms.
FORMS: dict[str, tuple[TtirForm, ...]] = {}
for _form in _forms():
    FORMS[_form.name] = (*FORMS.get(_form.name, ()), _form)
