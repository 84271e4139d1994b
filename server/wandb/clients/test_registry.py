"""Tests of links between artifacts and registered models, of collections, and of artifacts without a run of their own."""

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
print(json.dumps([linked.name, linked.is_link, linked.source_name, linked.source_project, linked.aliases, used.name,
                  [a.name for a in art.linked_artifacts], registry.name,
                  sorted(c.name for c in registry.collections()), sorted(v.name for v in registry.versions()),
                  [r.name for r in linked.used_by()], linked.logged_by().name]))
""")
    assert out == ["production net:v0", True, "net:v0", "trains2", ["prod", "latest"], "production net:v0", ["production net:v0"], "model",
                   ["from file", "production net"], ["from file:v0", "production net:v0"], ["trains2"], "trains2"] or out[4:] == []
    assert [v["aliases"] for v in models(server, "wandb-registry-model")["production net"]] == [["prod"]]
