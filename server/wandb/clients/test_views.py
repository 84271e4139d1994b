"""Saved workspaces and reports made with the package wandb_workspaces. Only clients since 0.31 are tested with it."""

import json
import urllib.parse
import urllib.request

import pytest
import wandb

from conftest import Server

if tuple(int(n) for n in wandb.__version__.split(".")[:2]) < (0, 31):
    pytest.skip("an old client", allow_module_level=True)

RUNS = """
for i in range(3):
    run = wandb.init(project="PROJECT", id=f"r{i}", name=f"run {i}", config={"lr": 0.1 * (i + 1), "net": {"depth": i}}, tags=["t"])
    for k in range(5):
        run.log({"loss": 1 / (k + 1) + i, "val/acc": k / 10})
    run.finish()
"""

HEAD = """
import json
import wandb_workspaces.workspaces as ws, wandb_workspaces.reports.v2 as wr
from wandb_workspaces import expr
"""

WORKSPACE = HEAD + """
w = ws.Workspace(name="Mine", entity="default", project="PROJECT", sections=[
    ws.Section(name="Losses", is_open=True, panels=[
        wr.LinePlot(title="both", y=["loss", "val/acc"], log_y=True), wr.BarPlot(metrics=["val/acc"]),
        wr.ScatterPlot(x=wr.Config("lr"), y=wr.SummaryMetric("loss")), wr.MarkdownPanel(markdown="# Notes"),
        wr.ParallelCoordinatesPlot(title="all", columns=[wr.ParallelCoordinatesPlotColumn("c::lr")])])],
    settings=ws.WorkspaceSettings(x_axis="_runtime", ignore_outliers=True),
    runset_settings=ws.RunsetSettings(
        query="run", filters="Config('lr') <= 0.25 and (Metric('State') == 'finished' or Metric('ID') in ['r0', 'r1'])",
        order=[expr.Ordering(expr.Summary("loss"), ascending=True)], pinned_columns=["run:displayName", "config:lr.value", "summary:loss"]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return a server with a dashboard."""
    s = Server(tmp_path_factory.mktemp("server"), "--enable-ui=true", "--ui-port", "0")
    yield s
    s.close()


def printed(output):
    """Return the lines that a script has printed as its results; the client prints others."""
    return [line.removeprefix("result ") for line in output.splitlines() if line.startswith("result ")]


def page(url):
    """Return the address and the text of the page to which a printed link leads."""
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": "text/html"})) as answer:
        return answer.geturl(), answer.read().decode()


def views(server, project, url):
    """Return the saved views of the runs of a project, as the dashboard lists them. A printed link leads to the dashboard."""
    dashboard = page(url)[0].partition("/experiment/")[0]
    with urllib.request.urlopen(f"{dashboard}/data/experiment/{server.experiment(project)['id']}/views") as answer:
        return json.load(answer)["data"]


def report(server, project):
    """Return the reports of a project."""
    found = [p for p in server.all("/project") if p["name"] == project]
    return server.all(f"/report/project/{found[0]['id']}")


def test_workspace(server, script):
    script(server.uri, RUNS.replace("PROJECT", "space"))
    [url] = printed(script(server.uri, WORKSPACE.replace("PROJECT", "space") + "print('result', w.save().url)"))
    [saved] = views(server, "space", url)
    query = dict(urllib.parse.parse_qsl(saved["query"]))
    first = [r["id"] for n, r in sorted(server.runs("space").items())][:2]
    assert saved["name"] == "Mine" and saved["has_panels"]
    assert query == {
        "filter": f"(param.lr <= 0.25 and (status = 'SUCCEEDED' or id in ('{first[0]}', '{first[1]}'))) and name contains 'run'",
        "sort": "metric.loss", "columns": "param.lr, metric.loss", "x": "relative", "trim": "1"}
    found = server.get(f"/iteration/experiment/{saved['experiment_id']}?filter={urllib.parse.quote(query['filter'])}")
    assert [r["name"] for r in found["data"]] == ["run 0", "run 1"]
    address, text = page(url)
    assert f"/experiment/{saved['experiment_id']}?" in address and f"view={saved['id']}" in address
    for part in ('"type":"line","title":"both","metrics":["loss","val/acc"]', '"type":"bar","x":"metric.val/acc"',
                 '"type":"scatter","x":"param.lr","y":"metric.loss"', "# Notes", "Not shown", "Parallel Coordinates Plot", "logarithmic Y axis"):
        assert part in text, text

    # The client reads its own definition again, and can change the view.
    again = printed(script(server.uri, HEAD + f"""
w = ws.Workspace.from_url("{url}")
print("result", json.dumps([w.name, w.runset_settings.filters, w.runset_settings.query, [p.__class__.__name__ for p in w.sections[0].panels], w.settings.x_axis]))
w.name, w.sections = "Better", []
assert w.save().url == "{url}"
copy = w.save_as_new_view()
assert copy.url != "{url}"
print("result", copy.url)
"""))
    assert json.loads(again[-2]) == [
        "Mine", """Config("lr") <= 0.25 and (Metric("State") == 'finished' or Metric("ID") in ['r0', 'r1'])""", "run",
        ["LinePlot", "BarPlot", "ScatterPlot", "MarkdownPanel", "ParallelCoordinatesPlot"], "RelativeTime(Process)"]
    names = [v["name"] for v in views(server, "space", url)]
    assert len(names) == 2 and names[0] == "Better" and names[1].startswith("Better (")
    assert "/experiment/" in page(again[-1])[0]


REPORT = HEAD + """
r = wr.Report(project="PROJECT", entity="default", title="My report", description="about *it*", blocks=[
    wr.H1("Head"), wr.P(["text ", wr.Link("a link", "http://example.com"), wr.InlineCode("c")]), wr.UnorderedList(items=["one", "two"]),
    wr.CodeBlock("print(1)\\nprint(2)", language="python"), wr.MarkdownBlock("**bold**"), wr.TableOfContents(),
    wr.PanelGrid(
        runsets=[wr.Runset(project="PROJECT", entity="default", name="some", filters="Config('lr') <= 0.25", groupby=["config.net.depth"])],
        panels=[wr.LinePlot(title="both", x="Step", y=["loss", "val/acc"], log_y=True, smoothing_factor=0.5, range_x=(0, 3)),
                wr.ScatterPlot(x=wr.Config("lr"), y=wr.SummaryMetric("loss")), wr.RunComparer()])])
"""


def test_report(server, script):
    script(server.uri, RUNS.replace("PROJECT", "papers"))
    [url] = printed(script(server.uri, REPORT.replace("PROJECT", "papers") + "print('result', r.save().url)"))
    [saved] = report(server, "papers")
    experiment = server.experiment("papers")["id"]
    text = server.get(f"/report/{saved['id']}")["text"]
    assert saved["name"] == "My report"
    for part in ("about \\*it\\*\n", "\n# Head\n", "\ntext [a link](http://example.com)`c`\n", "\n- one\n- two\n", "\n~~~python\nprint(1)\nprint(2)\n~~~\n",
                 "\n**bold**\n",
                 f"\n```chart\nmetrics: loss, val/acc\nexperiment: {experiment}\nfilter: param.lr <= 0.25\nsort: -created\ncaption: both\ngroup: param.net/depth\n"
                 "y: log\nsmooth: 0.5\nzoom: 0~3\ntogether: yes\n```\n",
                 f"\n```scatter\nx: param.lr\ny: metric.loss\nexperiment: {experiment}\nfilter: param.lr <= 0.25\nsort: -created\n```\n",
                 f"\n```table\nexperiment: {experiment}\nfilter: param.lr <= 0.25\nsort: -created\ngroup: param.net/depth\n```\n",
                 "\n## Not shown\n", "\n- a table of contents\n", "\n- Run Comparer\n"):
        assert part in text, text
    address, shown = page(url)
    assert address.endswith(f"/report/{saved['id']}") and "My report" in shown and "No run" not in shown

    again = printed(script(server.uri, HEAD + f"""
r = wr.Report.from_url("{url}")
print("result", json.dumps([r.title, r.description, [b.__class__.__name__ for b in r.blocks], r.blocks[6].runsets[0].filters]))
r.title = "Better"
r.blocks = r.blocks[:2]
assert r.save().url.endswith(r.id)
print("result", [x.display_name for x in wandb.Api().reports("default/papers")])
"""))
    assert json.loads(again[-2]) == ["My report", "about *it*", ["H1", "P", "UnorderedList", "CodeBlock", "MarkdownBlock", "TableOfContents", "PanelGrid"],
                                     "Config(\"lr\") <= 0.25"]
    assert again[-1] == "['Better']"
    [saved] = report(server, "papers")
    assert saved["name"] == "Better" and "```chart" not in server.get(f"/report/{saved['id']}")["text"]

    # A report that was changed in the dashboard is read as one Markdown block.
    change = urllib.request.Request(f"{server.uri}/report/{saved['id']}", json.dumps({"text": "# New"}).encode(), {"Content-Type": "application/json"},
                                    method="PATCH")
    urllib.request.urlopen(change).close()
    said = printed(script(server.uri, HEAD + f"""
r = wr.Report.from_url("{url}")
print("result", r.blocks)
assert r.delete()
print("result", len(wandb.Api().reports("default/papers")))
"""))
    assert "MarkdownBlock(text='# New')" in said[0] and said[-1] == "0"
    assert report(server, "papers") == []
