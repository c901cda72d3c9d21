# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Who is hotter than others in the same slot, and who needs more energy. docs/method.md, "A fleet", states the rules: those of stragglers, for
values that are made so that these fit them."""

from . import units
from .fleet_stragglers import MANY, of_scope

# Degrees that count as twice the time does: a straggler's 10 and 25 % are 8 and 20 degrees above the usual temperature.
DEGREES = 80

# Slots in the front and in the rear of a host differ in temperature: values are relative to the median of their slot. Of fewer than MANY in a slot that
# median is uncertain, so their GPUs are compared slot by slot, as few are.
_RELATIVE = """
    SELECT *, CASE WHEN in_slot < {many} THEN concat_ws(' ', what, slot) ELSE what END AS what_of_gpu, {value} AS seconds
    FROM (SELECT *, median(reading) OVER w AS usual, count(*) OVER w AS in_slot FROM ({readings}) WINDOW w AS (PARTITION BY what, slot))
    WHERE in_slot > 2 AND {value} > 0"""
_COLUMNS = "gpu, host, grp, slot, family, NULL::VARCHAR AS bound_by, true AS alone"
_TEMPERATURES = " UNION ALL ".join(
    f"SELECT {_COLUMNS}, concat_ws(' ', what{suffix}) AS what, concat_ws(' ', case_name{suffix}) AS said, {column} AS reading "
    f"FROM newest WHERE status = 'ok' AND {column} IS NOT NULL" for column, suffix in (("temperature_celsius", ""), ("memory_temperature_celsius", ", '(memory)'")))
_ENERGIES = f"SELECT {_COLUMNS}, what, case_name AS said, joules_per_launch AS reading FROM newest WHERE status = 'ok' AND joules_per_launch > 0"

VIEWS = {
    "temperatures": (f"per GPU and case: the temperature (`reading`), the median of its slot (`usual`), and {DEGREES} + their difference (`seconds`)",
                     _RELATIVE.format(many=MANY, value=f"{DEGREES} + reading - usual", readings=_TEMPERATURES)),
    "energies": ("the same of the energy per launch; `seconds` is reading / usual", _RELATIVE.format(many=MANY, value="reading / usual", readings=_ENERGIES)),
}


def _says_hot(connection, found, than):
    return f"hotter than {than} in {found['slow']} of {found['cases']} readings{of_scope(connection, found)}; the worst by {DEGREES * (found['times'] - 1):.0f} degrees: {found['said']}"


def _says_energy(connection, found, than):
    return (f"needs more energy than {than} in {found['slow']} of {found['cases']} cases{of_scope(connection, found)}; "
            f"the worst {units.digits(found['times'])} times the median: {found['said']}")


# Kind: its view, and what it says of one that is found.
MEASURES = {"hot": ("temperatures", _says_hot), "more_energy": ("energies", _says_energy)}
