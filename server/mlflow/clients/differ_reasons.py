"""The differences between MLflow and tracker that docs/mlflow.md describes."""

import json


def walk(answer, change):
    """Return a response in which change has been applied to each object, inner objects first."""
    if isinstance(answer, dict):
        return change({k: walk(v, change) for k, v in answer.items()})
    if isinstance(answer, list):
        return [v for v in (walk(v, change) for v in answer) if v is not None]
    return answer


def user(record):
    return None if record.get("key") == "mlflow.user" else {k: v for k, v in record.items() if k != "user_id"}


def end(record):
    return {k: v for k, v in record.items() if k != "end_time"}


def ended(record):
    return {k: v for k, v in record.items() if k != "status"} if record.get("status") in ("RUNNING", "FINISHED") else record


def field(record):
    empty = record.get("key") in ("mlflow.note.content", "mlflow.source.name", "mlflow.source.git.commit") and record.get("value") == ""
    return None if empty else record


def latest(record):
    return {k: v for k, v in record.items() if k not in ("value", "timestamp")} if "step" in record and "timestamp" in record else record


def cut(record):
    value = record.get("value")
    return {**record, "value": value[:6000]} if isinstance(value, str) else record


def described(record):
    # If the same dataset was sent earlier without a field, MLflow returns it without the field.
    return {k: v for k, v in record.items() if k not in ("source", "source_type", "schema", "profile")} if "digest" in record else record


RECORDS = [
    ("a dataset needs all of its fields", described),
    ("user_id and the tag mlflow.user are one value", user),
    ("a run has an end when it has ended, and only then", end),
    ("end_time alone ends a run", ended),
    ("an empty note or source counts as missing", field),
    ("parameters of a logged model are truncated like parameters of a run", cut),
    ("if several points have the largest step, the last written point is the latest", latest),
]


def reason(call, theirs, ours, unknown):
    """Return the reason why two responses to a call can differ, or None.

    unknown tells whether the call has the id of a record that does not exist.
    """
    method, path, body = call
    theirs, ours = ((status, answer if isinstance(answer, dict) else {}) for status, answer in (theirs, ours))  # it can be an HTML page
    statuses = theirs[0], ours[0]
    if statuses == (200, 200):
        one, other, why = theirs[1], ours[1], []
        for name, change in RECORDS:
            before = one, other
            one, other = walk(one, change), walk(other, change)
            if before != (one, other) and before[0] != before[1]:
                why.append(name)
            if one == other:
                return "; ".join(why)
    if ours[0] < 500 <= theirs[0]:
        return "MLflow returns a 5xx for an error of the client"
    if set(statuses) <= {400, 404} and (unknown or path.startswith(("model-versions/", "registered-models/"))):
        return "if a call has two errors, the servers report different ones"
    if statuses == (200, 404) and "mlflow-artifacts" in path:
        return "artifacts belong to runs that exist"
    if statuses == (200, 404) and path == "metrics/get-history":
        return "the history of a run that does not exist is 404"
    if statuses == (400, 200) and " like " in json.dumps(body):
        return "keywords are read in any case"
    if statuses == (200, 400) and path == "runs/log-inputs":
        return "a dataset needs all of its fields"
    if theirs[1].get("error_code") == "BAD_REQUEST" and (path == "runs/create" or path.startswith("logged-models")) and ours[0] in (200, 400):
        return "if a tag is given twice to a new record, the last value is stored"
    if path == "runs/outputs" and statuses == (400, 200):
        return "a logged model that is named twice is stored once"
    if path == "runs/outputs" and statuses == (200, 400):
        return "a deleted run accepts no logged models"
    if path == "logged-models/search" and "status " in body.get("filter", ""):
        return "the status of a logged model is compared by its name"
    if path == "logged-models/search" and statuses == (200, 200) and not ours[1]:
        return "the logged models of a deleted experiment are in the trash"
    if path == "logged-models" and statuses == (200, 400) and body.get("source_run_id"):
        return "the run of a logged model must exist and must not be deleted"
    if (path == "runs/create" or path.startswith("logged-models")) and statuses == (200, 400):
        return "keys of tags and parameters are checked wherever they are given"
    if path == "experiments/update" and ours[1].get("error_code") == "RESOURCE_ALREADY_EXISTS":
        return "a name that is in use always has the same error code"
    if path in ("runs/delete", "experiments/delete") and statuses == (200, 409):
        return "the run and the files of a model version can't be deleted before the version"
    if path == "runs/update" and body.get("status") == "DONE":
        return "an unknown status is refused"
    if path == "runs/restore" and statuses == (200, 400):
        return "a run of a deleted experiment is restored with the experiment"
    if path == "experiments/search" and "last_update_time" in body.get("order_by", []):
        return "last_update_time includes changes of tags"
    if path.startswith("/api/2.0/mlflow-artifacts/") and statuses == (200, 400):
        return "a deleted run accepts no artifacts"
    if path == "runs/delete-tag" and "mlflow.user" in json.dumps(body):
        return "user_id and the tag mlflow.user are one value"
    if path == "runs/update" and "status" not in body and "end_time" in body:
        return "end_time alone ends a run"
    if path == "runs/search" and any(t in body.get("filter", "") for t in ("mlflow.note.content", "mlflow.source.name", "mlflow.source.git.commit")):
        return "an empty note or source counts as missing"
    if path in ("runs/set-tag", "runs/delete-tag") and "mlflow.runName" in json.dumps(body):
        return "a run always has a name"
    if statuses == (400, 200) and path.endswith("/search") and (" IS N" in body["filter"] or " IN (" in body["filter"]):
        return "IS NULL and IN are supported for all texts"
    if path == "registered-models/alias" and method == "DELETE":
        return "an invalid alias counts as missing"
    if statuses in ((200, 404), (400, 404)) and "<model" in json.dumps(call):
        return "a named logged model must exist and must not be deleted"
    return None
