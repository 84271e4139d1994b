package ui_test

import (
	"regexp"
	"strings"
	"testing"

	"tracker/store/domain"
	"tracker/store/projects"
	"tracker/store/users"
)

var blockWrong = regexp.MustCompile(`data-testid="block-wrong">([^<]*)<`)

// TestBlocksOfOthers shows a report with blocks of a project that the reader can't read. All kinds
// of blocks give the same reason. The requests that add such blocks are rejected.
func TestBlocksOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t, setup{auth: true})
	experiment, ids := s.seeds()
	own := s.project("bob", "own", "", 1, 1)
	e := "experiment: " + experiment + "\n"
	id := must(s.db.Projects.CreateReport(t.Context(), s.actor("bob"), own, projects.NewReport{Name: "other", Text: "```chart\n" + e + "metrics: val/loss\n```\n" +
		"```difference\n" + e + "a: " + ids[0] + "\nb: " + ids[5] + "\n```\n```bar\n" + e + "x: metric.val/loss\n```\n" +
		"```scatter\n" + e + "x: param.lr\ny: metric.val/loss\n```\n```histogram\n" + e + "x: param.lr\n```\n"}))(t).ID
	bob := with(s.signIn("bob"))
	reasons := func() (all []string) {
		t.Helper()
		a := s.get("/report/"+id, bob)
		a.wants(t, 200)
		for _, m := range blockWrong.FindAllStringSubmatch(a.body, -1) {
			all = append(all, m[1])
		}
		return all
	}
	all := reasons()
	if len(all) != 5 {
		t.Fatalf("the reasons are %q", all)
	}
	for _, reason := range all {
		if reason != all[0] || reason == "" {
			t.Errorf("the reasons are %q", all)
		}
	}
	// An experiment of the reader does not give access to runs of another project.
	mine := must(s.db.Projects.Experiments(t.Context(), s.actor("bob"), own, projects.ExperimentQuery{Page: domain.Page{Limit: domain.MaxLimit}}))(t).Data[0].ID
	for _, frozen := range []string{"false", "true"} {
		a := s.do("POST", "/data/report/"+id+"/items", strings.NewReader(`{"kind":"difference","experiment":"`+mine+`","a":["`+ids[0]+`"],"b":["`+ids[5]+`"],"frozen":`+frozen+`}`),
			bob, header("Content-Type", "application/json"))
		if a.StatusCode != 403 && a.StatusCode != 404 || strings.Contains(a.body, "lr") {
			t.Errorf("frozen %s: %s %s", frozen, a.Status, a.body)
		}
	}
	must(s.db.Users.CreateUserPermission(t.Context(), domain.System, s.actor("bob").UserID, s.projectOf(experiment), users.PermissionPatch{Read: new(true)}))(t)
	if all := reasons(); len(all) != 0 {
		t.Errorf("with the right to read, the reasons are %q", all)
	}
	a := s.do("POST", "/data/report/"+id+"/items", strings.NewReader(`{"kind":"difference","experiment":"`+mine+`","a":["`+ids[0]+`"],"b":["`+ids[5]+`"]}`),
		bob, header("Content-Type", "application/json"))
	a.wants(t, 422, "belong to several experiments")
}

// TestWrongBlocks shows the reasons why blocks of differences and values can't be shown.
func TestWrongBlocks(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	experiment, ids := s.seeds()
	e := "experiment: " + experiment + "\n"
	for block, want := range map[string]string{
		"difference\n" + e + "a: " + ids[0]:                          "needs runs on both sides",
		"difference\n" + e + "a: " + ids[0] + "\nb: none":            "The runs on one side of the difference were deleted.",
		"difference\n" + e + "a: " + ids[0] + ", none\nb: " + ids[5]: "One of the runs was deleted and is not shown.",
		"bar\n" + e:                                                           "The value x must be one parameter or metric",
		"bar\n" + e + "x: param.lr, param.seed":                               "The value x must be one parameter or metric",
		"bar\n" + e + "x: metric.zebra":                                       "has finite values of zebra (last).",
		"bar\n" + e + "x: metric.val/loss\nfilter: lr <":                      "filter is wrong at character",
		"scatter\n" + e + "x: param.lr":                                       "The value y must be one parameter or metric",
		"scatter\n" + e + "x: param.lr\ny: metric.zebra":                      "has finite values of both lr and zebra (last).",
		"histogram\n" + e + "x: param.lr\nfilter: name = 'nobody'":            "passes the filter.",
		"histogram\nx: param.lr":                                              "needs the name or ID of an experiment",
		"histogram\n" + e + "x: param.lr\nruns: 0":                            "11 runs; 0 in colour.",
		"scatter\n" + e + "x: param.lr\ny: param.lr\nhighlight: param.lr = 1": "11 runs; 1 in colour.",
	} {
		id := s.report(s.projectOf(experiment), "wrong", "```"+block+"\n```\n\nafter")
		s.get("/report/"+id).wants(t, 200, strings.ReplaceAll(want, "'", "&#39;"), "<p>after</p>")
		s.get("/report/"+id+"/export").wants(t, 200, "<p>after</p>")
	}
	many := strings.Repeat("```difference\n"+e+"a: "+ids[0]+"\nb: "+ids[5]+"\n```\n", 12)
	s.get("/report/"+s.report(s.projectOf(experiment), "many", many)).wants(t, 200, "A report shows the difference of runs up to 10 times.")
}
