"""As much of torch as the public compiler asks for: names of element types."""

(float64, float32, float16, bfloat16, int64, int32, int16, int8, uint32, uint16, uint8, bool) = (
    f"torch.{name}"
    for name in (
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint32",
        "uint16",
        "uint8",
        "bool",
    )
)


class Tensor:
    pass


class dtype:
    pass
