"""What changed between minors about the search for devices (dynamic-resource-allocation/structured and cel)."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import HELD_SHARES_TAKE_COUNTERS, REFUSED_DEVICES_ARE_FORGOTTEN
from ksched_cli.releases.plugin_names import DYNAMIC_RESOURCES


class DeviceRules(ReleaseRules, plugins=DYNAMIC_RESOURCES):
    refused_devices_are_forgotten = Rule(
        REFUSED_DEVICES_ARE_FORGOTTEN,
        "filter",
        "A device that is refused, or given back in the search, takes no counters and no part in constraints any more; "
        "before, what it had taken could stay taken, so that a later device of the node was refused.",
    )
    held_shares_take_counters = Rule(
        HELD_SHARES_TAKE_COUNTERS,
        "filter",
        "A device that claims share takes its counters while they hold it; before, in the cycle of the first claim "
        "alone, so that partitions that exclude each other could be given out.",
    )
    pools_are_known_by_driver = Rule(
        "1.37",
        "filter",
        "Shared counters belong to the pool of one driver; before, pools of one name on a node shared them, whatever "
        "their drivers were.",
    )
    shares_hold_counters = Rule(
        "1.37",
        "filter",
        "A device that is shared already, even without capacity in use, does not take its counters once more; before, "
        "it did if its claims had no consumed capacity.",
    )
    all_includes_full_devices = Rule(
        "1.37",
        "filter",
        "A request for all devices fails if one of them has too little capacity left; before, it got the others.",
    )
    every_device_is_distinct = Rule(
        "1.37",
        "filter",
        "distinctAttribute compares a device with each device of a request; before, with the last one of each request.",
    )
    common_values_come_back = Rule(
        "1.37",
        "filter",
        "With the gate DRAListTypeAttributes, values that a device ruled out for matchAttribute can be chosen when "
        "the device is given back; before, they stayed ruled out.",
    )
    selectors_see_lists = Rule(
        "1.37",
        "filter",
        "Selectors read attributes that are lists; before, the gate DRAListTypeAttributes had to be on, and such an "
        "attribute ended the cycle with an error.",
    )
    errors_name_the_device = Rule(
        "1.37",
        "message",
        "If a selector fails, the message names the device, and for a missing attribute it has a hint about "
        "orValue() and has(); before, it had neither.",
    )
