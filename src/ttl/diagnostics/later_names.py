"""Names that the language got after version 0.20, with the date."""

from __future__ import annotations

NEWEST = "0.20"  # the last version implemented as a whole
JUNE, SUMMER, OPEN = "June 2026", "summer 2026", "not merged by September 2026"

LATER_NAMES = {
    "atom": JUNE,
    "make_dfb": SUMMER,
    "DFBAddressScope": OPEN,
    "read_index": SUMMER,
    "destination_count": SUMMER,
    "wait_any": SUMMER,
    "ReceiveRequest": SUMMER,
    "ReadyReceive": SUMMER,
    "Kernel": SUMMER,
    "KernelKind": SUMMER,
    "call_extern_func": SUMMER,
    "DFBEffect": SUMMER,
    "DFBAccess": SUMMER,
    "dfb_descriptor": SUMMER,
    "get_dfb_id": SUMMER,
    "raw_addr": SUMMER,
    "ScalarType": SUMMER,
    "DispatchCondition": SUMMER,
    "DeviceDomain": SUMMER,
    "DeviceRef": SUMMER,
    "TransferGraph": SUMMER,
    "pairwise": OPEN,
    "make_dfb_allocation_group": SUMMER,
    "DFBReset": SUMMER,
    "reset_dfbs": SUMMER,
    "reset_all_dfbs": SUMMER,
    "DFBReconfiguration": SUMMER,
    "reconfigure_dfbs": SUMMER,
    "topk": SUMMER,
    "SRAMStorage": OPEN,
    "store_rows": SUMMER,
}


def later_name(name: str) -> str | None:
    """Return the help for a name of a later version, or None."""
    came = LATER_NAMES.get(name)
    if came is None:
        return None
    return f"`{name}` is later than this version of the language, {NEWEST} ({came})"
