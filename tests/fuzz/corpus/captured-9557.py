# fuzz: {"kind": "captured", "seed": 9557, "failure": "engines differ: sim ended, host refused TTL5002"}
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import ttl

COUNT = 7
LESS = -3
ZERO = 0
MANY = 100003
YES = True
NO = False
HALF = 0.5
NEGATIVE = -2.75
SMALL = np.int8(100)
LEAST = np.int8(-128)
BYTE = np.uint8(250)
SHORT = np.int16(-30000)
WORD16 = np.uint16(60000)
WIDE = np.int32(1 << 20)
POSITIVE = np.uint32(7)
LONG = np.int64(-5)
LONGEST = np.uint64(9)
TENTH16 = np.float16(0.1)
TENTH = np.float32(0.1)
THIRD = np.float64(0.3)
TRUTH = np.bool_(True)
LIE = np.bool_(False)
PAIR = (3, np.int8(100), (True, np.float32(2.5)))
TABLE = np.array([100, 100, 27], np.int8)
GRID = np.array([[60000, 2], [3, 4]], np.uint16)
LIST = [np.uint8(200), 100]
NAMED = {"a": np.int16(30000), "b": -4}
WORD, NOTHING = "wide", None
THIRDS, PRICE = Fraction(1, 3), Decimal("1.5")


class Level(IntEnum):
    LOW = 1
    HIGH = 100


class Color(Enum):
    RED = np.int8(90)
    BLUE = "blue"


class Flags(IntFlag):
    ONE = 1
    BOTH = 3


class Point(NamedTuple):
    x: int
    y: object


POINT = Point(4, np.int8(-100))


@dataclass
class Config:
    size: object = np.uint8(255)
    rate: float = 0.25

    def twice(self):
        return self.size * 2

    @property
    def share(self):
        return np.int8(9)


CONFIG = Config()
DOUBLE = lambda value: value + value


def helper(value, more=np.int8(27)):
    return value + value + more


@ttl.operation(grid=(2, 1))
def operation(y):
    node = ttl.node(dims=1)
    per_node, narrow = 3 * node - 1, np.int8(100 + node)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        value = 0
        for i in range(1):
            value = (-per_node) ** LESS
        with y_dfb.reserve() as blk:
            blk.store(ttl.math.fill(value, shape=(1, 1)))

    @ttl.datamovement()
    def write():
        for number in range(1):
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[number, node]).wait()


if __name__ == "__main__":
    import ttnn

    device = ttnn.open_device(device_id=0)
    shape = (32, 64)
    y = ttnn.zeros(shape, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
    operation(y)
