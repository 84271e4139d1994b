package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tracker/store"
	"tracker/store/backup"
	"tracker/store/sqlite"
)

// Metrics holds the server's Prometheus metrics in its own registry.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	pieces   prometheus.Histogram
	commits  prometheus.Histogram
	failures prometheus.Counter
	streams  prometheus.Gauge
}

// NewMetrics returns Metrics with zero values.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tracker_http_requests_total",
			Help: "Requests answered, by route template and status.",
		}, []string{"method", "route", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tracker_http_request_seconds",
			Help:    "Time from a request's header to the end of its response.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
		}, []string{"method", "route"}),
		pieces: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "tracker_commit_pieces",
			Help:    "Writes that shared one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "tracker_commit_seconds",
			Help:    "Duration of one transaction of the writer, until it is on disk.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tracker_commit_failures_total",
			Help: "Transactions of the writer that were rolled back as a whole.",
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tracker_event_streams",
			Help: "Open event streams.",
		}),
	}
	m.registry.MustRegister(m.requests, m.latency, m.pieces, m.commits, m.failures, m.streams,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Commit counts a transaction of the writer. The caller sets store.Options.OnCommit to this
// method.
func (m *Metrics) Commit(c sqlite.CommitStats) {
	m.pieces.Observe(float64(c.Jobs))
	m.commits.Observe(c.Duration.Seconds())
	if c.Err != nil {
		m.failures.Inc()
	}
}

// Stream adds n to the number of event streams. n is 1 when a stream starts and -1 when it ends.
func (m *Metrics) Stream(n int) { m.streams.Add(float64(n)) }

// Observe counts an answered request. web.Log calls Observe. All unknown methods share one label
// value, and so do all unknown paths, so clients can't create label values.
func (m *Metrics) Observe(method, route string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.latency.WithLabelValues(method, route).Observe(took.Seconds())
}

// watch registers metrics that are read from the database on each scrape.
func (m *Metrics) watch(db *store.DB) {
	size := func(pick func(file, wal int64) int64) func() float64 {
		return func() float64 {
			file, wal, err := db.Size()
			if err != nil {
				return -1
			}
			return float64(pick(file, wal))
		}
	}
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tracker_write_queue_length",
			Help: "Writes waiting for the writer.",
		}, func() float64 { return float64(db.QueueLength()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tracker_database_bytes",
			Help: "Size of the database file; -1 when it can't be read.",
		}, size(func(file, _ int64) int64 { return file })),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tracker_wal_bytes",
			Help: "Size of the write-ahead log; -1 when it can't be read.",
		}, size(func(_, wal int64) int64 { return wal })),
	)
}

// WatchBackups registers metrics about backups. now returns the current time.
func (m *Metrics) WatchBackups(status func() backup.Status, now func() time.Time) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tracker_backup_age_seconds",
			Help: "Age of the newest copy of the database; -1 when there is none.",
		}, func() float64 {
			last, ok := status().Last()
			if !ok {
				return -1
			}
			return now().Sub(last.Time).Seconds()
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tracker_backup_bytes",
			Help: "Size of the newest copy of the database; 0 when there is none.",
		}, func() float64 {
			last, _ := status().Last()
			return float64(last.Size)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tracker_backup_failing",
			Help: "1 when the last attempt to copy the database failed, otherwise 0.",
		}, func() float64 {
			if status().Err != nil {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tracker_backup_last_error_timestamp_seconds",
			Help: "Time of the last failed attempt since the start; 0 if no attempt failed.",
		}, func() float64 {
			if t := status().ErrTime; !t.IsZero() {
				return float64(t.UnixMilli()) / 1000
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "tracker_backup_failures_total",
			Help: "Failed attempts to copy the database.",
		}, func() float64 { return float64(status().Total) }),
	)
}

func (s *Server) serverMetrics(c *call) error {
	promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}).ServeHTTP(c.w, c.r)
	return nil
}
