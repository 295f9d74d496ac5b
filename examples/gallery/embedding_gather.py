"""Rows of a table chosen by numbers in a tensor: the address of a copy comes out of the data.

A data movement kernel reads one element of a block, and what it reads selects the row that it
copies next. The other one writes rows out as they arrive. Nothing is computed.
"""

import numpy as np
import ttnn
from against_numpy import alike, tensor, values

import ttl

NODES = 4
TOKENS, WORDS, FEATURES = 64, 100, 64


@ttl.operation(grid=(NODES, 1))
def embedding_gather(token: ttnn.Tensor, table: ttnn.Tensor, y: ttnn.Tensor) -> None:
    count = token.shape[1] // NODES
    features = table.shape[1]
    token_dfb = ttl.make_dataflow_buffer_like(token, shape=(1, count), block_count=1)
    row_dfb = ttl.make_dataflow_buffer_like(table, shape=(1, features), block_count=4)

    @ttl.datamovement()
    def gather() -> None:
        first = ttl.node(dims=1) * count
        with token_dfb.reserve() as token_blk:
            ttl.copy(token[0:1, first : first + count], token_blk).wait()
        with token_dfb.wait() as token_blk:
            for n in range(count):
                word = int(ttl.raw_element_read(token_blk, 0, n))
                with row_dfb.reserve() as row:
                    ttl.copy(table[word : word + 1, :], row).wait()

    @ttl.datamovement()
    def write() -> None:
        first = ttl.node(dims=1) * count
        for n in range(first, first + count):
            with row_dfb.wait() as row:
                ttl.copy(row, y[n : n + 1, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    rows = ttnn.ROW_MAJOR_LAYOUT
    token = tensor(generator.integers(0, WORDS, (1, TOKENS)), ttnn.float32, rows)
    table = tensor(generator.standard_normal((WORDS, FEATURES)), layout=rows)
    y = tensor(np.zeros((TOKENS, FEATURES)), layout=rows)
    embedding_gather(token, table, y)
    alike("embedding_gather", y, values(table)[values(token)[0].astype(int)])


if __name__ == "__main__":
    main()
