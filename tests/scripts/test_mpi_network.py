# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""roofmark-mpi between hosts: network namespaces with names of their own, joined by a bridge, whose links are made slow."""
import os
import shutil
import subprocess

import pytest
import ranks
from conftest import need

need("jsonschema")
pytestmark = ranks.needs_mpi

# What a TCP connection over Ethernet carries: of each frame of 1514 bytes (MTU 1500 and 14 of header) 1448 are data.
PAYLOAD = 1448 / 1514


def command(*words, check=True):
    return subprocess.run(list(map(str, words)), check=check, capture_output=True, text=True)


class Hosts:
    """`count` network namespaces on a bridge; host i is 10.77.0.(i + 1)."""

    def __init__(self, folder, count):
        self.folder = folder
        prefix = f"rm{os.getpid() % 100000}"
        self.names = [f"{prefix}h{i}" for i in range(count)]
        self.bridge = f"{prefix}br"

    def create(self):
        command("ip", "link", "add", self.bridge, "type", "bridge")
        command("ip", "link", "set", self.bridge, "up")
        for i, name in enumerate(self.names):
            command("ip", "netns", "add", name)
            command("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            command("ip", "link", "set", name, "master", self.bridge)
            command("ip", "-n", name, "address", "add", f"10.77.0.{i + 1}/24", "dev", "eth0")
            command("ip", "-n", name, "link", "set", "lo", "up")
            command("ip", "-n", name, "link", "set", "eth0", "up")
            command("ip", "link", "set", name, "up")

    def limit(self, host, megabits):
        """Both directions of this host's link."""
        # A veth passes whole buffers of TCP on, of up to 64 KiB with one header; what the queue counts is the frames that they
        # become on a wire, headers and all, and it cuts those that are larger than its bucket.
        # The bucket pays for what the machine is late by when it is busy, and lets as much of each message pass at once.
        shape = ["root", "tbf", "rate", f"{megabits}mbit", "burst", 24 * 1024, "latency", "500ms"]
        command("tc", "-n", self.names[host], "qdisc", "replace", "dev", "eth0", *shape)
        command("tc", "qdisc", "replace", "dev", self.names[host], *shape)

    def remove(self):
        for name in self.names:
            command("ip", "link", "delete", name, check=False)
            command("ip", "netns", "delete", name, check=False)
        command("ip", "link", "delete", self.bridge, check=False)

    def run(self, *arguments):
        """One rank on each host; mpirun is at home on the first."""
        addresses = {f"10.77.0.{i + 1}": name for i, name in enumerate(self.names)}
        agent = self.folder / "agent"
        cases = "\n".join(f"  {address}) name={name} ;;" for address, name in addresses.items())
        enter = 'exec ip netns exec "$name" unshare --uts sh -c \'hostname "$0" && exec "$@"\' "$name"'
        agent.write_text(f"#!/bin/sh\nfor word; do\n  shift\n  case $word in\n{cases}\n    *) continue ;;\n  esac\n  break\ndone\n"
                         f'{enter} sh -c "$*"\n')
        agent.chmod(0o755)
        hostfile = self.folder / "hosts"
        hostfile.write_text("".join(f"{address} slots=1\n" for address in addresses))
        settings = {"plm_rsh_agent": agent, "btl": "tcp,self", "pml": "ob1", "btl_tcp_eager_limit": 1 << 17, "btl_tcp_if_include": "10.77.0.0/24",
                    "oob_tcp_if_include": "10.77.0.0/24"}
        launcher = ["--hostfile", hostfile, "--map-by", "node"]
        for key, value in settings.items():
            launcher += ["--mca", key, value]
        first = self.names[0]
        words = ["ip", "netns", "exec", first, "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', first, ranks.MPIRUN,
                 *launcher, "-np", len(self.names), ranks.PROGRAM, *arguments]
        return ranks.finish(subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                             env=ranks.ENVIRONMENT))


@pytest.fixture
def hosts(tmp_path):
    for program in ["ip", "tc", "unshare", "hostname"]:
        if not shutil.which(program):
            pytest.skip(f"no {program} (scripts/setup --test installs it)")
    said = subprocess.run([ranks.MPIRUN, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" not in said and "OpenRTE" not in said:  # by the second name it calls itself as mpiexec
        pytest.skip("the launcher is not Open MPI's, whose agent starts a rank on a host")
    made = []

    def make(count, limits):
        made.append(Hosts(tmp_path, count))
        try:
            made[0].create()
            for host, megabits in limits.items():
                made[0].limit(host, megabits)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no hosts of network namespaces here: {' '.join(error.cmd[:6])} ...: {error.stderr.strip()}")
        return made[0]

    try:
        yield make
    finally:
        for one in made:
            one.remove()



def guilty(result):
    return [finding for finding in result["findings"] if finding["kind"] in ("slow_rank", "slow_host", "slow_link")]


def measured(made, folder, is_right, *arguments):
    """The result of ranks on these hosts. What else this machine does takes its share of a network that is made of its cores:
    up to three runs, the first that is right or the last."""
    for attempt in range(3):
        out = folder / f"out{attempt}"
        done = made.run("collectives", "--device", "cpu", "--suite", "baseline", "--max-seconds", "0.05", "--out", out, *arguments)
        assert done.returncode == 0, done.stderr
        result = ranks.load(out)
        if is_right(result):
            break
    return result


def test_a_limited_link_is_measured(hosts, tmp_path):
    """Of each direction what TCP leaves of the limit; the sizes are far above what the bucket lets pass at once."""
    megabits = 200
    made = hosts(2, {1: megabits})
    expected = pytest.approx(megabits * 1e6 / 8 * PAYLOAD, rel=0.05)

    def fit_of(result):
        [fit] = [fit for fit in result["communication"]["fits"] if fit["series"].startswith("ping_pong/")]
        return fit

    result = measured(made, tmp_path, lambda result: fit_of(result)["bytes_per_second"] == expected,
                      "--filter", "^ping_pong/.*bytes:(8|1048576|4194304)/", "--expect-ranks", 2)
    assert [member["host"] for member in result["team"]] == made.names
    fit = fit_of(result)
    assert fit["series"].endswith(", between hosts") and fit["points"] == 3
    assert fit["bytes_per_second"] == expected
    assert not guilty(result)


def test_a_slow_host_is_named_and_no_other(hosts, tmp_path):
    """The other hosts have a limit too, so that the cores matter less."""
    made = hosts(3, {0: 800, 1: 800, 2: 200})
    result = measured(made, tmp_path, lambda result: {finding["kind"] for finding in guilty(result)} == {"slow_rank"},
                      "--filter", "^ping_pong/")
    found = guilty(result)
    assert found
    alone = [entry["name"] for entry in result["benchmarks"] if "/from:" in entry["name"]]
    assert len(alone) == 2 and all("/bytes:4194304/" in name for name in alone)
    for finding in found:
        assert finding["times_alone"] > 2 and finding["text"].endswith(": slow without other traffic, too")
        assert finding["kind"] == "slow_rank" and f"rank 2 ({made.names[2]})" in finding["text"]
        assert not any(name in finding["text"] for name in made.names[:2])
