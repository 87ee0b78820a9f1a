"""Jobs in shards: the same bytes whoever computes them, and nothing is computed twice."""

import errno
import os
from pathlib import Path

import pytest
from sharding.work import squares

from pellucid.errors import InputError, PellucidError
from pellucid.sharding import (
    Executor,
    InProcess,
    Job,
    Processes,
    contents,
    even_ranges,
    executor_of,
    identity_of,
    run,
    running,
)
from pellucid.sharding.executors import Cluster, WorkerLostError

WHOLE = squares(0, 23)


def job(folder, **arguments):
    return Job(
        name="squares",
        work=squares,
        arguments=arguments,
        ranges=even_ranges(23, 5),
        folder=folder,
        identity=identity_of({"factor": arguments.get("factor", 1)}, "a digest"),
    )


def made(log):
    """The beginnings of the ranges that were computed, in no order."""
    return sorted(int(path.name.split("-")[0]) for path in log.iterdir())


class Backwards(Executor):
    """Does the last task first."""

    def run(self, function, tasks):
        for task in reversed(list(tasks)):
            yield function(*task)


@pytest.mark.parametrize("executor", [InProcess(), Backwards()])
def test_shards_joined_are_the_whole_in_whatever_order_they_are_made(executor, tmp_path):
    run(job(tmp_path), executor)
    assert b"".join(contents(job(tmp_path))) == WHOLE
    assert len(list(tmp_path.glob("*.shard"))) == 5


def test_what_is_there_is_not_made_again_unless_it_is_damaged_or_of_another_job(tmp_path):
    (log := tmp_path / "log").mkdir()
    first = job(tmp_path, log=str(log))
    run(first)
    run(first)
    assert made(log) == [0, 5, 10, 15, 20]
    damaged = first.path(first.ranges[1])
    damaged.write_bytes(damaged.read_bytes().replace(b"36", b"37"))
    cut = first.path(first.ranges[3])
    cut.write_bytes(cut.read_bytes()[:-4])
    first.path(first.ranges[4]).write_bytes(first.path(first.ranges[0]).read_bytes())  # of another range
    run(first)
    assert made(log) == [0, 5, 5, 10, 15, 15, 20, 20]
    assert b"".join(contents(first)) == WHOLE
    other = job(tmp_path, factor=3, log=str(log))
    first.path(first.ranges[0]).rename(other.path(other.ranges[0]))  # a name does not make it another's
    run(other)
    assert b"".join(contents(other)) == squares(0, 23, factor=3)


def test_a_shard_that_is_damaged_before_it_is_joined_is_made_anew(tmp_path):
    run(job(tmp_path))
    job(tmp_path).path(job(tmp_path).ranges[2]).write_bytes(b"nonsense")
    assert b"".join(contents(job(tmp_path))) == WHOLE


class Stopping(Executor):
    """Ends with an error after some tasks."""

    def __init__(self, error, after=2, times=1):
        self.error, self.after, self.times = error, after, times

    def run(self, function, tasks):
        for count, task in enumerate(tasks):
            if count == self.after and self.times:
                self.times -= 1
                raise self.error
            yield function(*task)


def test_ctrl_c_says_how_to_go_on_and_the_job_goes_on_there(tmp_path):
    (log := tmp_path / "log").mkdir()
    with pytest.raises(KeyboardInterrupt, match="Stopped. 2 of 5 parts are kept in .*: the same command goes on from"):
        run(job(tmp_path, log=str(log)), Stopping(KeyboardInterrupt()))
    notes = []
    run(job(tmp_path, log=str(log)), note=notes.append)
    assert notes == ["2 of 5 parts are there from before."]
    assert made(log) == [0, 5, 10, 15, 20]
    with pytest.raises(KeyboardInterrupt, match="Stopped. Nothing was done yet."):
        run(job(tmp_path / "other"), Stopping(KeyboardInterrupt(), after=0))


def test_a_full_disk_leaves_what_was_done(tmp_path, monkeypatch):
    write = running.write_shard_file

    def full(path, identity, begin, end, content):
        if begin == 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, identity, begin, end, content)

    monkeypatch.setattr(running, "write_shard_file", full)
    notes = []
    with pytest.raises(OSError, match="No space left on device"):
        run(job(tmp_path), note=notes.append)
    assert notes == [
        f"2 of 5 parts are kept in {tmp_path}: the same command goes on from there, with other processes or workers, "
        "too."
    ]
    monkeypatch.undo()
    run(job(tmp_path))
    assert b"".join(contents(job(tmp_path))) == WHOLE


def test_what_lost_workers_had_to_do_is_done_by_others_until_nothing_gets_done(tmp_path):
    run(job(tmp_path / "a"), Stopping(WorkerLostError("A worker was killed"), times=2))
    assert b"".join(contents(job(tmp_path / "a"))) == WHOLE
    with pytest.raises(PellucidError, match="A worker was killed, 3 times: for lack of memory.* Nothing was done yet"):
        run(job(tmp_path / "b"), Stopping(WorkerLostError("A worker was killed"), after=0, times=9))


def test_a_long_job_says_what_it_takes_and_one_without_room_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "LONG", 0.0)
    notes = []
    run(job(tmp_path / "a"), note=notes.append)
    (note,) = notes
    assert note.startswith("3 parts of 5 are left: about 0 seconds in this process, ")
    assert note.endswith("on the disk. If it is stopped, the same command goes on where it was.")
    monkeypatch.setattr(running.shutil, "disk_usage", lambda _: os.terminal_size((1, 1)))
    monkeypatch.setattr(running.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 100})())
    with pytest.raises(
        InputError, match="Squares need about 0 MB on the disk of .*b. Got 0 MB that are free; free some"
    ):
        run(job(tmp_path / "b"))


def test_the_first_shards_of_workers_do_not_count_as_the_time_of_all(tmp_path, monkeypatch):
    """Each of three workers takes 60 seconds to begin and 1 second for a shard."""

    class Workers(Executor):
        workers = 3

        def run(self, function, tasks):
            for count, task in enumerate(tasks):
                yield function(*task)._replace(seconds=61.0 if count < 3 else 1.0)

    monkeypatch.setattr(running, "LONG", 10.0)
    notes = []
    long = Job(name="squares", work=squares, ranges=even_ranges(400, 4), folder=tmp_path, identity="a")
    run(long, Workers(), note=notes.append)
    assert [note.partition(" in ")[0] for note in notes] == ["96 parts of 100 are left: about 32 seconds"]


def test_who_computes_is_chosen_by_two_numbers():
    assert isinstance(executor_of(), InProcess)
    assert isinstance(executor_of(1), InProcess)
    assert executor_of(2).workers == 2
    assert executor_of(3, "local").jobs == 3
    with pytest.raises(InputError, match="`jobs` is the number of processes on this machine. Got a cluster at tcp://x"):
        executor_of(3, "tcp://x")
    with pytest.raises(InputError, match="Work in 100000 processes needs about 40 TB of memory.*use fewer with `jobs`"):
        executor_of(100_000)


@pytest.fixture(scope="module")
def cluster():
    """Two workers in threads of this process."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as started:
        yield started


def test_a_cluster_writes_the_same_bytes(cluster, tmp_path):
    run(job(tmp_path / "alone"))
    with Cluster(cluster.scheduler_address) as executor:
        assert executor.workers == 2
        run(job(tmp_path / "cluster"), executor)
    for path in sorted((tmp_path / "alone").iterdir()):
        assert (tmp_path / "cluster" / path.name).read_bytes() == path.read_bytes()


def test_mistakes_with_clusters_are_explained(cluster, tmp_path, monkeypatch):
    with (
        pytest.raises(InputError, match="The workers of a cluster must see the same files.*Got no .*gone/.* there"),
        Cluster(cluster.scheduler_address) as executor,
    ):
        run(job(tmp_path, log=str(tmp_path / "gone")), executor)
    monkeypatch.setattr("pellucid.sharding.executors._PATIENCE", 0.2)
    with pytest.raises(
        InputError, match="must be the address of a Dask scheduler, or 'local'. Got 'tcp://127.0.0.1:1'"
    ):
        Cluster("tcp://127.0.0.1:1").__enter__()
    with pytest.raises(InputError, match="must be the address of a Dask scheduler.*Got 'nonsense://'"):
        Cluster("nonsense://").__enter__()


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: Cluster("local", 2), lambda: Processes(2)])
def test_a_worker_that_is_killed_loses_nothing(make, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    (log := tmp_path / "log").mkdir()
    die = {"begin": 10, "mark": str(tmp_path / "mark")}
    killed = job(tmp_path / "shards", log=str(log), die=die, wait=0.02)
    with make() as executor:
        run(killed, executor)
    assert (tmp_path / "mark").exists()
    assert b"".join(contents(killed)) == WHOLE
    assert {int(path.name.split("-")[1]) for path in log.iterdir()}.isdisjoint({os.getpid()})
    assert set(made(log)) == {0, 5, 10, 15, 20}
