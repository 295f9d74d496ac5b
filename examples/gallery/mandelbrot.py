"""The Mandelbrot set: each point counts the steps that it stays within two of the origin.

The state of a tile, z and its count, goes round the loop as values; only the corner of the plane
comes in and only the count leaves.
"""

import numpy as np
import ttnn
from against_numpy import alike, tensor, values

import ttl

NODES = 4
SIZE = 128
STEPS = 24


@ttl.operation(grid=(NODES, 1))
def mandelbrot(real: ttnn.Tensor, imaginary: ttnn.Tensor, count: ttnn.Tensor) -> None:
    rows, columns = (size // ttl.TILE_SIZE for size in count.shape)
    real_dfb, imaginary_dfb, count_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(1, 1), block_count=2)
        for each in (real, imaginary, count)
    )
    for row in range(ttl.node(dims=1), rows, NODES):
        for column in range(columns):
            with real_dfb.reserve() as cr, imaginary_dfb.reserve() as ci:
                ttl.copy(real[row, column], cr).wait()
                ttl.copy(imaginary[row, column], ci).wait()
            with real_dfb.wait() as cr, imaginary_dfb.wait() as ci, count_dfb.reserve() as n:
                zr = ttl.block.fill(0, shape=(1, 1))
                zi = ttl.block.fill(0, shape=(1, 1))
                steps = ttl.block.fill(0, shape=(1, 1))
                for _ in range(STEPS):
                    turned = zr * zi
                    # Points that left stay far outside instead of growing without bound.
                    zr = ttl.math.clamp(zr * zr - zi * zi + cr, -8, 8)
                    zi = ttl.math.clamp(2 * turned + ci, -8, 8)
                    steps += zr * zr + zi * zi <= 4
                n.store(steps)
            with count_dfb.wait() as n:
                ttl.copy(n, count[row, column]).wait()


def plane() -> tuple[np.ndarray, ...]:
    across = np.linspace(-2.1, 0.7, SIZE, dtype=np.float32)
    down = np.linspace(-1.4, 1.4, SIZE, dtype=np.float32)
    return np.meshgrid(across, down)


def counted(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    z = np.zeros_like(real, np.complex64)
    count = np.zeros_like(real)
    for _ in range(STEPS):
        squared = z * z + real + 1j * imaginary
        z = np.clip(squared.real, -8, 8) + 1j * np.clip(squared.imag, -8, 8)
        count += z.real**2 + z.imag**2 <= 4
    return count


def main() -> None:
    real, imaginary = (tensor(each, ttnn.float32) for each in plane())
    count = ttnn.zeros_like(real)
    mandelbrot(real, imaginary, count)
    # On the border one digit decides: a handful of points may leave a step earlier or later.
    alike("mandelbrot", count, counted(values(real), values(imaginary)), share=0.005)


if __name__ == "__main__":
    main()
