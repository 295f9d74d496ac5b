"""Calls with tensors that are spread over the devices of a mesh."""

from __future__ import annotations

import pytest

import ttl
from device.standins import DataType, Device, Launches, Layout, Mesh, ScratchTensor, Tensor
from ttl.diagnostics import codes

from .test_launch import call, sent

PLACES = [(0, 0), (0, 1)]


def tensors(mesh: Device, count: int = 4) -> list[Tensor]:
    return [
        Tensor((256, 256), DataType.BFLOAT16, Layout.TILE, mesh, position)
        for position in range(count)
    ]


def test_one_program_for_the_whole_mesh(launches: Launches) -> None:
    call(*tensors(Mesh(shape="1x2", coordinates=PLACES)))
    ((_, program),) = launches.calls
    ((place, of_device),) = program.items()
    assert place == ("1x2",)
    assert of_device.kernels[2].common_runtime_args == [0x1C00]


def test_tensors_on_a_part_of_the_mesh(launches: Launches) -> None:
    call(*tensors(Mesh(shape="2x2", coordinates=PLACES, devices=4)))
    ((_, program),) = launches.calls
    assert list(program) == [(place, place) for place in PLACES]


def test_a_mesh_of_one_is_a_device(launches: Launches) -> None:
    call(*tensors(Mesh(shape="1x1", coordinates=PLACES[:1], devices=1)))
    ((_, program),) = launches.calls
    assert len(program.kernels) == 3


def test_tensors_on_different_devices_of_a_mesh(launches: Launches) -> None:
    given = tensors(Mesh(shape="2x2", coordinates=PLACES, devices=4))
    given[3].place = Mesh(shape="2x2", coordinates=[(1, 0), (1, 1)], devices=4)
    with pytest.raises(ttl.UsageError, match="`y` of multiply_add_exp lies on other devices") as it:
        call(*given)
    assert it.value.diagnostics[0].code is codes.UNUSABLE_TENSOR
    assert not launches.calls


def test_the_scratch_of_pipes_is_on_every_device(launches: Launches) -> None:
    mesh = Mesh(shape="1x2", coordinates=PLACES)
    before = len(ScratchTensor.made)
    ttl.operation(grid=(3, 1))(sent)(*tensors(mesh, count=2))
    (made,) = ScratchTensor.made[before:]
    assert made.mesh_mapper == ("replicate", mesh)
