"""Which conformance programs run compiled too, and why the others do not.

Every program runs twice: on the simulator, and compiled on the host executor, with the same
expectations. This table is the only place for exceptions: the name of a test (with its parameters,
or without for all of them) and the reason, which is one of
rule OBSERVE   the test looks at the simulator by Python objects that its kernels write, which
               language.md forbids in compiled kernels
rule RAISE     the kernel raises a Python exception on purpose, which C++ has not
rule DEVICES   a grid of more than two dimensions, which language.md leaves to the simulator
"""

from __future__ import annotations

OBSERVE = "its kernels write Python objects around them"
RAISE = "its kernel raises a Python exception"
DEVICES = "a grid of more than two dimensions runs on the simulator"

EXCEPTIONS: dict[str, str] = {
    # It keeps a fill alive in a list around the kernel.
    "test_a_fill_that_is_shapeless_at_the_end_of_the_kernel_is_an_error": OBSERVE,
    # Runs both ways itself: a warning of the simulator, an error of the compiler.
    "test_writing_to_a_captured_list_dict_or_object_is_diagnosed": OBSERVE,
    "test_an_error_on_one_node_stops_all_and_is_raised_once": RAISE,
    "test_a_node_that_waits_is_stopped_too": RAISE,
    "test_tensors_keep_what_was_written_and_the_operation_can_be_called_again": RAISE,
    "test_grid_size_flattens_or_pads[grid3-2-expected3]": DEVICES,
    "test_grid_size_flattens_or_pads[grid4-3-expected4]": DEVICES,
    "test_grid_size_flattens_or_pads[grid5-2-expected5]": DEVICES,
    "test_grid_size_flattens_or_pads[grid6-1-24]": DEVICES,
    "test_a_tuple_is_the_grid[grid3]": DEVICES,
    "test_is_src_is_dst_and_is_active_in_kernels_and_bodies": OBSERVE,
    "test_pipe_identities_and_layouts_are_what_they_name": OBSERVE,
    "test_a_block_goes_from_one_node_to_another": OBSERVE,
    "test_callbacks_come_once_for_each_pipe_in_declaration_order": OBSERVE,
    "test_the_source_may_be_changed_after_the_wait_of_the_send": OBSERVE,
    "test_one_to_many_barrier[grid2]": DEVICES,
    "test_entries_after_the_second_are_mesh_dimensions": DEVICES,
    "test_the_rest_is_flattened_into_the_last_coordinate": DEVICES,
    "test_a_coordinate_with_fewer_entries_is_flattened": DEVICES,
    "test_a_range_with_fewer_entries_is_flattened": DEVICES,
    "test_every_node_of_a_three_dimensional_grid_computes": DEVICES,
}


def reason_not_compiled(name: str) -> str | None:
    """Why a test runs on the simulator only; None if it runs compiled too."""
    return EXCEPTIONS.get(name) or EXCEPTIONS.get(name.partition("[")[0])
