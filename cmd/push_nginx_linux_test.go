package cmd

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/points"
	"tracker/store/projects"
	"tracker/store/runs"
	"tracker/store/scalar"
)

const nginxConfiguration = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log warn;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	%[2]s
}
`

// startNginx starts nginx with its default settings in front of a server. It returns nginx's
// address and the path of its log.
func startNginx(t *testing.T, target string) (address, log string) {
	t.Helper()
	listen := freeAddress(t)
	log = startNginxWith(t, fmt.Sprintf("server { listen %s; location / { proxy_pass %s; } }", listen, target), listen)
	return "http://" + listen, log
}

// startNginxWith starts nginx with the given servers and waits until it answers at all addresses. It
// returns the path of its log.
func startNginxWith(t *testing.T, servers string, addresses ...string) (log string) {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConfiguration, dir, servers), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx" // this folder is often not in the PATH of ordinary users
	}
	log = filepath.Join(dir, "error.log")
	c := exec.Command(program, "-p", dir, "-c", conf, "-e", log)
	if err := c.Start(); err != nil {
		t.Fatalf("nginx is missing; install nginx-light: %v", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	eventually(t, "nginx answers", func() bool {
		for _, address := range addresses {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return false
			}
			conn.Close()
		}
		return true
	})
	return log
}

// TestPushThroughNginx pushes an archive larger than 1 MB, which is the largest request body that
// nginx accepts by default.
func TestPushThroughNginx(t *testing.T) {
	inFullRuns(t)
	target := startServer(t, t.TempDir(), nil)
	proxy, log := startNginx(t, target.API)
	dir := t.TempDir()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "tracker.db")})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	project, err := db.Projects.CreateProject(t.Context(), domain.System, domain.NewProject{Name: "vision"})
	must(err)
	experiment, err := db.Projects.CreateExperiment(t.Context(), domain.System, project.ID, projects.NewExperiment{Name: "sweep"})
	must(err)
	run, err := db.Runs.CreateIteration(t.Context(), domain.System, experiment.ID, runs.NewIteration{})
	must(err)
	random := rand.New(rand.NewPCG(1, 2))
	const calls, size = 40, 10_000
	for i := range calls {
		var batch []points.Sample
		for j := range size {
			step := scalar.Step(size*i + j)
			batch = append(batch, points.Sample{Key: "noise", Value: scalar.Value(random.Float64()), Step: &step})
		}
		must(db.Runs.CreateMetrics(t.Context(), domain.System, run.ID, batch))
	}
	must(db.Close())
	t.Chdir(dir)
	env := []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "SERVICE_ADMIN_PASSWORD=" + adminPassword}
	r := runMain(t, env, "", "push", "vision", "--to", proxy, "--json")
	r.must(t)
	if !strings.Contains(r.stdout, fmt.Sprintf(`"points":%d`, calls*size)) {
		t.Errorf("the push: %+v", r)
	}
	text, err := os.ReadFile(log)
	must(err)
	if strings.Contains(string(text), "too large body") {
		t.Errorf("the log of nginx: %s", text)
	}
}
