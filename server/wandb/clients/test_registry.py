"""Tests of links between artifacts and registered models, of collections, and of artifacts that no run of the script logs."""

import json
import urllib.request

import pytest

from test_reading import said

# Log a version of an artifact, and wait until it is complete.
LOG = """
def log(run, name, text, kind="model", **more):
    art = wandb.Artifact(name, type=kind)
    with art.new_file("w.txt") as f:
        f.write(text)
    return run.log_artifact(art, **more).wait()

"""


def models(server, project):
    """Return the registered models of a project, by name, and their versions, oldest first."""
    found = [p for p in server.all("/project") if p["name"] == project]
    return {m["name"]: server.all(f"/modelversion/model/{m['id']}")[::-1] for m in server.all(f"/model/project/{found[0]['id']}")}


def is_new(script, server):
    """Report whether the client knows registries, which clients before 0.19 do not."""
    return said(script, server, "print(json.dumps([hasattr(api, 'registries')]))") == [True]


def test_link(server, script):
    """A linked version is a version of a registered model, with its lineage."""
    out = said(script, server, LOG + """
with wandb.init(project="trains", id="trains") as run:
    for i in range(2):
        art = log(run, "net", f"weights {i}")
        run.link_artifact(art, "portfolios/best net", aliases=["staging"] if i == 0 else None)
    other = wandb.Artifact("net", type="model")
    with other.new_file("w.txt") as f:
        f.write("weights 2")
    run.link_artifact(run.log_artifact(other), "portfolios/best net")
    run.link_artifact(art, "portfolios/best net", aliases=["again"])
first = api.artifact("default/portfolios/best net:v0")
folder = first.download(skip_cache=True)
latest = api.artifact("default/portfolios/best net:latest")
again = api.artifact("default/portfolios/best net:again")
print(json.dumps([first.version, first.name, sorted(first.aliases), open(folder + "/w.txt").read(), first.type,
                  latest.version, again.version, api.artifact("default/portfolios/best net:staging").version,
                  [a.version for a in api.artifacts("model", "default/portfolios/best net")],
                  [c.name for c in api.artifact_type("model", "default/portfolios").collections()]]))
""")
    assert out == ["v0", "best net:v0", ["staging"], "weights 0", "model", "v2", "v1", "v0", ["v2", "v1", "v0"], ["best net"]]
    versions = models(server, "portfolios")["best net"]
    assert [(v["version"], v["aliases"]) for v in versions] == [(1, ["staging"]), (2, ["again"]), (3, [])]
    graph = server.get(f"/lineage/modelversion/{versions[0]['id']}")
    assert {n["kind"]: n["name"] for n in graph["nodes"]}["artifactversion"] == "net:v0"


def test_link_to_registry(server, script):
    if not is_new(script, server):
        pytest.skip("clients before 0.19 have no registries")
    out = said(script, server, LOG + """
with wandb.init(project="trains2", id="trains2") as run:
    art = log(run, "net", "weights")
    linked = run.link_artifact(art, "wandb-registry-model/production net", aliases=["prod"])
    open("model.bin", "w").write("a model")
    run.link_model("model.bin", "from file", aliases=["first"])
    used = run.use_artifact("wandb-registry-model/production net:prod")
    assert open(used.file()).read() == "weights"
registry = api.registry("model")
print(json.dumps([linked.name, linked.is_link, linked.source_name, linked.source_project, sorted(linked.aliases), used.version,
                  [a.name for a in art.linked_artifacts], registry.name,
                  sorted(c.name for c in registry.collections()), sorted(v.name for v in registry.versions()),
                  [r.name for r in linked.used_by()], linked.logged_by().name]))
""")
    assert out == ["production net:v0", True, "net:v0", "trains2", ["latest", "prod"], "v0", ["production net:v0"], "model",
                   ["production net"], ["production net:v0"], ["trains2"], "trains2"]
    assert [v["aliases"] for v in models(server, "wandb-registry-model")["production net"]] == [["prod"]]
    assert [v["aliases"] for v in models(server, "model-registry")["from file"]] == [["first"]]


def test_change_links(server, script):
    """Aliases of a link differ from the aliases of the artifact; its tags and its metadata are the artifact's."""
    if not is_new(script, server):
        pytest.skip("clients before 0.19 do not fetch links as members of their collection")
    out = said(script, server, LOG + """
with wandb.init(project="changes", id="changes") as run:
    art = log(run, "net", "weights", aliases=["own"])
    linked = run.link_artifact(art, "wandb-registry-model/changing", aliases=["staging"])
linked.aliases.remove("staging")
linked.aliases.append("production")
linked.tags.append("tagged")
linked.metadata["x"] = 1
linked.save()
again = api.artifact("wandb-registry-model/changing:production")
source = api.artifact("changes/net:v0")
try:
    source.delete(delete_aliases=True)
    refused = False
except Exception as e:
    refused = "changing" in str(e)
found = [sorted(again.aliases), again.tags, again.metadata, sorted(source.aliases), source.tags, again.version, refused]
again.unlink()
wandb.Api().artifact("changes/net:v0")
try:
    wandb.Api().artifact("wandb-registry-model/changing:v0")
    found.append("still linked")
except Exception:
    found.append("unlinked")
print(json.dumps(found))
""")
    assert out == [["latest", "production"], ["tagged"], {"x": 1}, ["latest", "own"], ["tagged"], "v0", True, "unlinked"]


def test_collection(server, script):
    """Collections have a description, tags and a type. They are listed in the order of their creation, and can be deleted."""
    if not is_new(script, server):
        pytest.skip("clients before 0.19 have no ArtifactCollection.save with tags")
    out = said(script, server, LOG + """
with wandb.init(project="collected", id="collected") as run:
    log(run, "first", "1")
    art = log(run, "second", "2")
    log(run, "second", "3")
    log(run, "third", "4", kind="dataset")
    run.link_artifact(art, "collected/linked")
one = api.artifact_collection("model", "default/collected/second")
one.description, one.tags, one.type = "the second", ["a", "b"], "network"
one.save()
one.tags = ["b", "c"]
one.save()
read = api.artifact_collection("network", "default/collected/second")
linked = api.artifact_collection("network", "default/collected/linked")
linked.description, linked.tags, linked.name = "for use", ["used"], "renamed"
linked.save()
named = wandb.Api().artifact_collection("network", "default/collected/renamed")
found = [read.description, sorted(read.tags), read.is_sequence(), named.description, named.tags, named.is_sequence(), sorted(named.aliases),
         sorted(t.name for t in api.artifact_types("default/collected")), api.artifact("default/collected/second:v1").type,
         [c.name for c in api.project("collected", "default").collections(order="createdAt")]
         if hasattr(api.project("collected", "default"), "collections") else [],
         read.created_at <= named.created_at, [a.version for a in read.artifacts()]]
named.delete()
api.artifact_collection("model", "default/collected/first").delete()
found.append(sorted(c.name for t in wandb.Api().artifact_types("default/collected") for c in t.collections()))
print(json.dumps(found))
""")
    assert out[:9] == ["the second", ["b", "c"], True, "for use", ["used"], False, ["latest", "v0"], ["dataset", "model", "network"], "network"]
    assert out[9] in ([], ["first", "second", "third", "renamed"])
    assert out[10:] == [True, ["v1", "v0"], ["second", "third"]]


def test_registry_api(server, script):
    if not is_new(script, server):
        pytest.skip("clients before 0.19 have no registries")
    out = said(script, server, LOG + """
if not hasattr(api, "create_registry"):
    print("[]")
    raise SystemExit
made = api.create_registry("fruits", visibility="organization", description="apples")
try:
    api.create_registry("fruits", visibility="organization")
    raise SystemExit("a registry was created twice")
except ValueError:
    pass
with wandb.init(project="orchard", id="orchard") as run:
    for name, n in ("red", 1), ("green", 2):
        art = log(run, name, name, tags=[name])
        run.link_artifact(art, f"wandb-registry-fruits/{name} apple", aliases=["ripe"] if n == 1 else None)
api = wandb.Api()
made.description = "apples and pears"
made.save()
registry = api.registry("fruits")
found = [registry.description, [r.name for r in api.registries(filter={"name": "fruits"})], [r.name for r in api.registries(filter={"name": {"$regex": "nuts"}})],
         sorted(c.name for c in api.registries(filter={"name": "fruits"}).collections(filter={"name": {"$regex": "apple"}})),
         [v.source_name for v in registry.versions(filter={"alias": "ripe"})], [v.name for v in registry.versions(filter={"tag": "green"})],
         [v.name for c in registry.collections(filter={"name": "red apple"}) for v in c.artifacts()]]
registry.name = "pears"
registry.save()
found.append(sorted(c.name for c in wandb.Api().registry("pears").collections()))
registry.delete()
found.append([r.name for r in wandb.Api().registries(filter={"name": "pears"})])
print(json.dumps(found))
""")
    if out:
        assert out == ["apples and pears", ["fruits"], [], ["green apple", "red apple"], ["red:v0"], ["green apple:v0"], ["red apple:v0"],
                       ["green apple", "red apple"], []]


def test_without_run(server, script):
    """Artifacts can be saved outside of a run, also as the next version of an artifact."""
    out = said(script, server, """
art = wandb.Artifact("alone", type="dataset")
with art.new_file("a.txt") as f:
    f.write("a")
art.save(project="lonely")
art.wait()
first = api.artifact("default/lonely/alone:latest")
draft = first.new_draft()
with draft.new_file("b.txt") as f:
    f.write("b")
draft.save()
draft.wait()
second = wandb.Api().artifact("default/lonely/alone:latest")
run = second.logged_by()
print(json.dumps([first.version, second.version, sorted(second.manifest.entries), run.job_type]))
""")
    assert out == ["v0", "v1", ["a.txt", "b.txt"], "auto"]


def test_public_run(server, script):
    """A finished run can log and use artifacts through the public API."""
    out = said(script, server, LOG + """
with wandb.init(project="public", id="one") as run:
    log(run, "net", "weights")
with wandb.init(project="public", id="two"):
    pass
art = api.artifact("default/public/net:v0")
run = api.run("default/public/two")
run.use_artifact(art)
run.log_artifact(art, aliases=["chosen"])
print(json.dumps([[a.name for a in wandb.Api().run("default/public/two").used_artifacts()], [r.id for r in art.used_by()],
                  sorted(wandb.Api().artifact("default/public/net:v0").aliases)]))
""")
    assert out == [["net:v0"], ["two"], ["chosen", "latest"]]


def send(server, method, path, content, kind="application/json"):
    """Send a request to the REST API and return its JSON response."""
    request = urllib.request.Request(server.uri + path, data=content, headers={"Content-Type": kind}, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_native_version(server, script):
    """W&B's client downloads and uses versions that were logged through the REST API."""
    project = send(server, "POST", "/project", b'{"name": "native-artifacts"}')["id"]
    experiment = send(server, "POST", f"/experiment/project/{project}", b'{"name": "other"}')["id"]
    run = send(server, "POST", f"/iteration/experiment/{experiment}", b'{"name": "logs"}')["id"]
    for name in "a.txt", "b/c.txt":
        parts = {"iteration_id": run, "name": f"data/{name}", "data": f"the {name}"}
        form = "".join(f'--x\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in parts.items()) + "--x--\r\n"
        send(server, "POST", f"/resource/experiment/{experiment}", form.encode(), "multipart/form-data; boundary=x")
    body = {"name": "corpus", "type": "dataset", "path": "data", "metadata": {"n": 1}}
    send(server, "POST", f"/artifactversion/iteration/{run}", json.dumps(body).encode())
    out = said(script, server, LOG + """
art = api.artifact("default/native-artifacts/corpus:v0")
folder = download(art, "first")
art.verify(folder)
with wandb.init(project="native-artifacts", id="user") as run:
    used = run.use_artifact("corpus:latest")
    again = used.download(root="again")
    text = open(used.get_entry("b/c.txt").download(root="one", skip_cache=True)).read()
    run.link_artifact(used, "native-artifacts/chosen")
    draft = used.new_draft()
    draft.remove("a.txt")
    with draft.new_file("d.txt") as f:
        f.write("new")
    run.log_artifact(draft).wait()
second = wandb.Api().artifact("default/native-artifacts/corpus:latest")
print(json.dumps([sorted(art.manifest.entries), open(folder + "/a.txt").read(), open(again + "/b/c.txt").read(), text, art.metadata, art.type,
                  second.version, sorted(second.manifest.entries), api.artifact("native-artifacts/chosen:v0").source_name
                  if hasattr(second, "source_name") else "corpus:v0", open(download(second, "second") + "/b/c.txt").read()]))
""")
    assert out == [["a.txt", "b/c.txt"], "the a.txt", "the b/c.txt", "the b/c.txt", {"n": 1}, "dataset", "v1" if out[6] == "v1" else "v0",
                   ["b/c.txt", "d.txt"], "corpus:v0", "the b/c.txt"]


def test_object_references(server, script):
    """An object of another artifact can be added to an artifact, before and after the other one was logged."""
    out = said(script, server, """
import numpy as np
with wandb.init(project="refers", id="refers") as run:
    source = wandb.Artifact("source", type="dataset")
    source.add(wandb.Table(columns=["a", "b"], data=[[1, "x"]]), "rows")
    with source.new_file("w.txt") as f:
        f.write("weights")
    run.log_artifact(source).wait()
with wandb.init(project="refers", id="refers2") as run:
    used = run.use_artifact("source:latest")
    middle = wandb.Artifact("middle", type="dataset")
    middle.add_reference(used.get_entry("w.txt"), "linked.txt")
    middle.add(used.get("rows"), "again")
    run.log_artifact(middle).wait()
found = api.artifact("default/refers/middle:latest")
folder = found.download()
print(json.dumps([sorted(found.manifest.entries), open(folder + "/linked.txt").read(), found.get("again").data,
                  open(found.get_entry("linked.txt").download(root="one")).read()]))
""")
    assert out == [["again.table.json", "linked.txt"], "weights", [[1, "x"]], "weights"]


def test_life(server, script):
    """A version has the step at which it was logged, and a time to live."""
    out = said(script, server, LOG + """
import datetime
if not hasattr(wandb.Artifact, "history_step"):
    print("[]")
    raise SystemExit
with wandb.init(project="lives", id="lives") as run:
    run.log({"a": 1})
    run.log({"a": 2})
    art = wandb.Artifact("short", type="model")
    art.ttl = datetime.timedelta(days=2)
    with art.new_file("w.txt") as f:
        f.write("x")
    run.log_artifact(art).wait()
    read = api.artifact("default/lives/short:v0")
    days = [read.ttl.days]
    read.ttl = datetime.timedelta(days=3)
    read.save()
    days.append(wandb.Api().artifact("default/lives/short:v0").ttl.days)
    read.ttl = None
    read.save()
    days.append(wandb.Api().artifact("default/lives/short:v0").ttl)
print(json.dumps([days, read.history_step]))
""")
    if out:
        assert out == [[2, 3, None], 1]


def test_people(server, script):
    """Users, teams and organizations are answered with whole records."""
    out = said(script, server, """
found = [api.viewer.username, api.user("default").username, [u.username for u in api.users("default")], api.users("nobody")]
team = api.team("default")
found += [team.name, [m.username for m in team.members]]
if hasattr(api, "organization"):
    found.append(api.organization().name)
print(json.dumps(found))
""")
    assert out[:6] == ["default", "default", ["default"], [], "default", ["default"]] and out[6:] in ([], ["default"])


def test_run_states(server, script):
    out = said(script, server, """
for i in "ab":
    with wandb.init(project="deleted-twice", id=i):
        pass
run = api.run("default/deleted-twice/a")
run.delete()
run.delete()
left = [r.id for r in api.runs("default/deleted-twice")]
if hasattr(api.run("default/deleted-twice/b"), "stop"):
    api.run("default/deleted-twice/b").stop()
print(json.dumps(left))
""")
    assert out == ["b"]


def test_linked_through_mlflow(server, script):
    """MLflow's protocol knows a linked artifact as a model version, with the location of its files."""
    script(server.uri, LOG + """
with wandb.init(project="both", id="both") as run:
    run.link_artifact(log(run, "net", "weights"), "both/served", aliases=["champion"])
""")
    version = server.get("/mlflow/both/api/2.0/mlflow/registered-models/alias?name=served&alias=champion")["model_version"]
    assert version["version"] == "1"
    at = server.get("/mlflow/both/api/2.0/mlflow/model-versions/get-download-uri?name=served&version=1")["artifact_uri"]
    path = at.removeprefix("mlflow-artifacts:/")
    with urllib.request.urlopen(f"{server.uri}/mlflow/both/api/2.0/mlflow-artifacts/artifacts/{path}/w.txt") as answer:
        assert answer.read() == b"weights"
