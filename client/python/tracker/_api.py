"""Reads projects, runs, metrics and artifacts from a server."""

from __future__ import annotations

import datetime
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Optional, Sequence, Union
from urllib.parse import quote, urlencode

from ._check import Status
from ._config import SUMMARY, Summary
from ._frame import frame
from ._history import History, Points, history, points
from ._http import Client, Refused, TrackerError, download
from ._table import Table, read_table

if TYPE_CHECKING:
    from ._version import Version

PAGE = 1000
"""Maximum number of records in one listing request."""


class Record:
    """A record on the server. Its fields are attributes; record.fields holds all of them."""

    def __init__(self, api: Api, fields: Dict[str, Any]) -> None:
        self.api, self.fields = api, fields

    id: str

    if not TYPE_CHECKING:  # type checkers that saw __getattr__ would accept misspelled fields
        def __getattr__(self, name):
            try:
                return self.__dict__["fields"][name]
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no {name}") from None

    route = ""
    """The first part of the API path for records of this class."""

    def delete(self) -> None:
        """Move the record and its contents to the trash. A server without a trash deletes them permanently."""
        self.api.client.call("DELETE", f"/{self.route}/{quote(self.id, safe='')}")

    def restore(self) -> None:
        """Restore the record from the trash.

        Raises Refused if the record is not in the trash, or if its parent is in the trash.
        """
        self.api.client.call("POST", f"/trash/{quote(self.id, safe='')}/restore")

    def __repr__(self) -> str:
        label = self.fields.get("name") or self.fields.get("version") or ""
        return f"<{type(self).__name__} {label} {self.fields['id']}>"


class Api:
    """The records of a server.

    Methods raise Refused if the server rejects a request, and Unreachable if it does not respond.
    """

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None) -> None:
        self.client = Client(url, token)

    def all(self, path: str, **query: Any) -> Iterator[Dict[str, Any]]:
        """Yield all records of a listing, which is requested page by page. Query parameters that are None are omitted."""
        wanted = {name: value for name, value in query.items() if value is not None}
        offset = 0
        while True:
            page = self.client.call("GET", f"{path}?{urlencode({**wanted, 'limit': PAGE, 'offset': offset})}")
            yield from page["data"]
            offset += len(page["data"])
            if not page["data"] or offset >= page["total"]:
                return

    def projects(self, name: Optional[str] = None) -> List[Project]:
        """Return the projects whose name contains the given name, or all projects if it is None."""
        return [Project(self, r) for r in self.all("/project", name=name)]

    def project(self, name: str) -> Project:
        """Return the project with exactly this name. Raises KeyError if there is none."""
        found: Project = _exactly(self.projects(name), name, "project")
        return found

    def iterations(self, project: str, experiment: str, filter: Optional[str] = None, sort: Optional[str] = None,
                   columns: Optional[str] = None) -> List[Iteration]:
        """Return the iterations of an experiment. docs/search.md describes filter and sort."""
        return self.project(project).experiment(experiment).iterations(filter, sort, columns)

    def runs(self, project: str, experiment: Optional[str] = None, filter: Optional[str] = None,
             sort: Optional[str] = None) -> List[Iteration]:
        """Return the runs of an experiment. If experiment is None, return the runs of all experiments of the project.

        docs/search.md describes filter and sort.
        """
        found = self.project(project)
        places = [found.experiment(experiment)] if experiment is not None else found.experiments()
        return [run for place in places for run in place.iterations(filter, sort)]

    def run(self, id: str) -> Iteration:
        """Return the run with the given id."""
        return self.iteration(id)

    def iteration(self, id: str) -> Iteration:
        """Return the iteration, which is a run, with the given id."""
        return Iteration(self, self.client.call("GET", f"/iteration/{quote(id, safe='')}"))

    def artifact(self, project: str, name: str) -> Version:
        """Return the version of an artifact in a project. name is NAME, NAME:v3 or NAME:alias.

        If several experiments of the project have an artifact NAME, it is the newest version that matches. Raises KeyError
        if the version does not exist.
        """
        from ._version import find

        found = self.project(project)
        return find(self.client, found.id, lambda: [one.id for one in found.experiments()], name)

    def model(self, name: str, project: Optional[str] = None) -> Model:
        """Return the model with this name. If project is None, all projects are searched.

        Raises KeyError if the model does not exist, or if several projects have a model with this name.
        """
        found = [Model(self, record)
                 for one in ([self.project(project)] if project else self.projects())
                 for record in self.all(f"/model/project/{one.id}", exact_name=name)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} projects have a model {name!r}" + ("; name the project" if found else ""))
        return found[0]

    def trash(self, kind: Optional[str] = None) -> List[Trashed]:
        """Return the records in the trash that the user can restore, most recently deleted first.

        kind is project, experiment, iteration, model, model_version, report or resource. A resource is an artifact.
        """
        return [Trashed(self, r) for r in self.all("/trash", kind=kind)]

    def empty_trash(self, until: Optional[datetime.datetime] = None) -> int:
        """Permanently delete all records in the trash, or only those deleted before until. Requires an administrator.

        Returns the number of deleted records.
        """
        at = "" if until is None else "?" + urlencode({"until": until.astimezone(datetime.timezone.utc).isoformat()})
        purged: int = self.client.call("DELETE", "/trash" + at)["purged"]
        return purged

    def series(self, iterations: Sequence[Any], keys: Sequence[str], points: int = 1000) -> List[Dict[str, Any]]:
        """Return the curves of many iterations. A curve has the columns step, value and recorded_at.

        If a curve has more points than requested, each of its points summarizes several, and it also has min and max.
        """
        ids = [getattr(one, "id", one) for one in iterations]
        answer = self.client.call("POST", "/series", {"iterations": ids, "keys": list(keys), "points": points})
        return list(answer["series"])


class Project(Record):
    """A project."""

    route = "project"
    name: str
    description: str
    created_by: Optional[str]
    created_key: Optional[str]
    created_date: str
    experiment_count: int
    iteration_count: int

    def experiments(self, name: Optional[str] = None, status: Optional[str] = None) -> List[Experiment]:
        """Return the experiments of the project, newest first."""
        return [Experiment(self.api, r) for r in self.api.all(f"/experiment/project/{self.id}", name=name, status=status)]

    def experiment(self, name: str) -> Experiment:
        """Return the newest experiment with exactly this name. Raises KeyError if there is none."""
        found: Experiment = _exactly(self.experiments(name), name, "experiment")
        return found

    def models(self) -> List[Model]:
        """Return the models of the project."""
        return [Model(self.api, r) for r in self.api.all(f"/model/project/{self.id}")]


class Experiment(Record):
    """An experiment."""

    route = "experiment"
    name: str
    description: str
    project_id: str
    status: Literal["IN_PROGRESS", "STOPPED", "FINISHED"]
    created_by: Optional[str]
    created_key: Optional[str]
    created_date: str
    end_date: Optional[str]
    iteration_count: int

    def iterations(self, filter: Optional[str] = None, sort: Optional[str] = None,
                   columns: Optional[str] = None) -> List[Iteration]:
        """Return the iterations that match filter, ordered by sort. docs/search.md describes both."""
        rows = self.api.all(f"/iteration/experiment/{self.id}", filter=filter, sort=sort, columns=columns)
        return [Iteration(self.api, r) for r in rows]

    def to_pandas(self, filter: Optional[str] = None, sort: Optional[str] = None) -> Any:
        """Return the iterations as a pandas frame.

        The columns are the fields, param/NAME for parameters, and metric/NAME for the last values of metrics. Dates are
        in UTC. A parameter's column is numeric if all its values are numbers or missing.
        """
        keys = [(r["kind"], r["key"]) for r in self.api.all(f"/experiment/{self.id}/keys")]
        return frame(keys, lambda columns: (one.fields for one in self.iterations(filter, sort, columns)))


class Iteration(Record):
    """An iteration, which is a run."""

    route = "iteration"
    name: str
    notes: str
    experiment_id: str
    parent_iteration_id: Optional[str]
    status: Status
    error_message: str
    created_by: Optional[str]
    created_key: Optional[str]
    created_date: str
    end_date: Optional[str]
    last_seen: str
    stop_requested: Optional[str]
    stop_requested_by: Optional[str]
    tags: List[str]
    params: Dict[str, str]  # params and metrics exist only in listings that were requested with columns
    metrics: Dict[str, Any]

    @property
    def parameters(self) -> Dict[str, str]:
        """The parameters, as text."""
        return {r["key"]: r["value"] for r in self.api.all(f"/parameter/iteration/{self.id}")}

    @property
    def summary(self) -> Summary:
        """The values set in run.summary, the last string or list that was logged under each name, and the last value of
        every other metric, by name."""
        found, own = Summary(), {}
        answer = self._summary()
        own.update(answer.get("texts", {}))
        for name, value in {**answer["params"], **{key: one["last"] for key, one in answer["metrics"].items()}}.items():
            if name.startswith(SUMMARY):
                own[name[len(SUMMARY):]] = value
            elif name in answer["metrics"]:
                found[name] = value
        found.update(own)
        return found

    @property
    def statistics(self) -> Dict[str, Dict[str, Any]]:
        """Statistics by metric: count, mean, and last, min and max with their steps (last_step, min_step, max_step).

        last is the value at the largest step. min, max and mean cover finite values only. If a metric has no finite value,
        they are None.
        """
        return dict(self._summary()["metrics"])

    def _summary(self) -> Dict[str, Any]:
        answer: Dict[str, Any] = self.api.client.call("GET", f"/iteration/{self.id}/summary")
        for one in answer["metrics"].values():
            for name in ("last", "min", "max", "mean"):
                one[name] = None if one[name] is None else float(one[name])  # NaN and infinities are strings in JSON
        return answer

    def series(self, key: str, points: int = 1000) -> Dict[str, Any]:
        """Return the curve of a metric as columns, reduced to about the given number of points. Peaks are preserved.

        Raises KeyError if the metric does not exist.
        """
        query = urlencode({"key": key, "points": points})
        found = self.api.client.call("GET", f"/metric/iteration/{self.id}/series?{query}")["series"]
        if not found:
            raise KeyError(key)
        return dict(found[0])

    def history(self, keys: Optional[Sequence[str]] = None, wide: bool = True) -> Union[History, Points]:
        """Return all points of the given metrics. If keys is None, return all metrics except system metrics.

        The result has a row for each step and a column for each metric. With wide=False, it has a row for each point
        instead, including the point's time.
        """
        if keys is None:
            keys = [key for key in self._summary()["metrics"] if not key.startswith(("system/", SUMMARY))]
        keys = [keys] if isinstance(keys, str) else list(keys)
        return (history if wide else points)(self.api.client, self.id, keys)

    def table(self, key: str, step: Optional[int] = None) -> Table:
        """Return the table that was logged under key at a step, or at the last step if step is None.

        key can also be the name of an artifact that is a table. Raises KeyError if the table does not exist.
        """
        try:
            return read_table(self.api.client, self.id, key, step)
        except Refused as refused:
            if refused.status == 404:
                raise KeyError(refused.message) from None
            raise

    def artifacts(self) -> List[Artifact]:
        """Return the artifacts of the run."""
        rows = self.api.all(f"/resource/experiment/{self.experiment_id}", iteration_id=self.id)
        return [Artifact(self.api, r) for r in rows]


class Artifact(Record):
    """A logged file."""

    route = "resource"
    name: str
    description: str
    experiment_id: str
    iteration_id: Optional[str]
    backend: str
    uri: str
    size_bytes: int
    content_hash: str
    content_type: str
    created_by: Optional[str]
    created_key: Optional[str]
    created_date: str
    updated_date: str

    def download(self, path: Optional[str] = None, progress: Optional[bool] = None) -> str:
        """Write the file to path, and return the path of the file. path is a file or a folder.

        Raises TrackerError if the hash is wrong. progress shows the progress on stderr. By default, it is shown on a
        terminal only.
        """
        path = path or "."
        name = os.path.basename(self.fields["name"]) or self.id
        target = os.path.join(path, name) if os.path.isdir(path) else path
        show = sys.stderr.isatty() if progress is None else progress

        def tell(done: int, total: int) -> None:
            print(f"\r{name}: {done / 1e6:.1f} of {total / 1e6:.1f} MB", end="", file=sys.stderr)

        partial = target + ".part"
        try:
            with open(partial, "wb") as file:
                digest = download(self.api.client, f"/resource/{self.id}/data", file, tell if show else None)
            if digest != self.content_hash:
                raise TrackerError(f"{name} arrived damaged: its SHA-256 is {digest}, not {self.content_hash}")
            os.replace(partial, target)
        finally:
            if show:
                print(file=sys.stderr)
            if os.path.exists(partial):
                os.unlink(partial)
        return target


class Model(Record):
    """A model in the registry."""

    route = "model"
    name: str
    description: str
    project_id: str
    created_by: Optional[str]
    created_key: Optional[str]
    created_date: str
    updated_date: str

    def versions(self, stage: Optional[str] = None) -> List[ModelVersion]:
        """Return the versions of the model, newest first."""
        return [ModelVersion(self.api, r) for r in self.api.all(f"/modelversion/model/{self.id}", stage=stage)]

    def production(self) -> ModelVersion:
        """Return the version in production. Raises KeyError if there is none."""
        try:
            return ModelVersion(self.api, self.api.client.call("GET", f"/model/{self.id}/production"))
        except Refused as refused:
            if refused.status == 404:
                raise KeyError(f"no version of {self.name} is in production") from None
            raise


class ModelVersion(Record):
    """A version of a model."""

    route = "modelversion"
    model_id: str
    version: int
    stage: Literal["NONE", "STAGING", "PRODUCTION", "ARCHIVED"]
    description: str
    iteration_id: str
    resource_id: Optional[str]
    created_by: Optional[str]
    created_key: Optional[str]
    created_date: str
    updated_date: str

    def artifact(self) -> Artifact:
        """Return the artifact of the version. Raises KeyError if it has none."""
        if not self.resource_id:
            raise KeyError(f"version {self.version} has no artifact")
        return Artifact(self.api, self.api.client.call("GET", f"/resource/{self.resource_id}"))

    def download(self, path: Optional[str] = None, progress: Optional[bool] = None) -> str:
        """Download the artifact of the version. See Artifact.download."""
        return self.artifact().download(path, progress)


class Trashed(Record):
    """A record in the trash. Its counts are the numbers of other records that are restored or purged with it."""

    route = "trash"
    kind: str
    name: str
    project_id: str
    project_name: str
    deleted_date: str
    deleted_by: Optional[str]
    purge_date: str
    held_by: str
    experiments: int
    iterations: int
    models: int
    versions: int
    artifacts: int
    size_bytes: int

    def delete(self) -> None:
        """Delete the record permanently."""
        super().delete()


def _exactly(records: Sequence[Any], name: str, kind: str) -> Any:
    for record in records:
        if record.fields["name"] == name:
            return record
    raise KeyError(f"there is no {kind} {name!r}")
