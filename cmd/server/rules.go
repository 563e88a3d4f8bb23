package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/policy"
	"github.com/spillway-llm/spillway/core/upstream"
	"github.com/spillway-llm/spillway/policies"
	"github.com/spillway-llm/spillway/store"
)

// checker holds a draft against a catalog in the worker process.
type checker interface {
	// Check reports the draft's problems. The error tells that the check itself
	// could not be done.
	Check(ctx context.Context, files policy.Files, catalog *core.Catalog) (policy.Report, error)
}

// rules are the acting policies over the acting catalog. One change is made at
// a time, and a change that fails leaves everything as it was.
type rules struct {
	db       *store.DB
	checker  checker
	upstream *upstream.Client
	clock    core.Clock
	callers  *callers
	log      *slog.Logger
	// recorders are the database, the console once it is told, and the log.
	recorders core.Recorders
	// engine is nil until open.
	engine *core.Engine

	mu      sync.Mutex // held for the whole of a change
	catalog *core.Catalog
	files   policy.Files
	number  int // of the revision that acts in the database
	acting  *policy.Policy
}

var _ console.Activator = (*rules)(nil)

func newRules(db *store.DB, c checker, connect time.Duration, log *slog.Logger) *rules {
	return &rules{
		db: db, checker: c, log: log, clock: core.NewSystemClock(),
		upstream: upstream.New(upstream.Config{UserAgent: "spillway/" + version(), ConnectTimeout: connect}),
		callers:  newCallers(db, log),
		// The second is the console's place: it needs an engine first, see tell.
		recorders: core.Recorders{db, core.Discard{}, alarm{log}},
	}
}

// tell makes the console a listener. It must be called before the engine starts.
func (r *rules) tell(c core.Recorder) { r.recorders[1] = c }

// open finds the acting revision, or installs the shipped one, and makes an
// engine that runs it over the catalog with the state of the process before.
func (r *rules) open(ctx context.Context, catalog *core.Catalog) error {
	if err := r.upstream.Replace(catalog); err != nil {
		return err
	}
	p, err := r.first(ctx, catalog)
	if err != nil {
		return err
	}
	r.engine, err = core.New(core.Config{Revision: p.Revision, Clock: r.clock, Recorder: r.recorders, Prober: r.upstream})
	if err != nil {
		return err
	}
	state, err := r.db.LoadState(ctx)
	if err != nil {
		return err
	}
	r.engine.Restore(state)
	r.catalog, r.acting = catalog, p
	r.recorders.Record(&core.ConfigChange{At: r.clock.Wall(), Digest: catalog.Digest, By: "start"})
	return r.callers.adopt(ctx, p)
}

// first builds the revision that the database says acts. One that does not fit
// the catalog or this version of the program is replaced for this run by the
// newest earlier one that does, and at last by the shipped policies: answering
// by yesterday's rules is better than not answering. The database keeps naming
// the operator's own, and the log and the audit say loudly what happened.
func (r *rules) first(ctx context.Context, catalog *core.Catalog) (*policy.Policy, error) {
	active, err := r.db.ActiveRevision(ctx)
	if errors.Is(err, store.ErrNotFound) {
		active, err = r.install(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.number, r.files = active.Number, active.Files
	r.compareShipped(active)
	p, problems := r.build(active.Files, catalog)
	if !problems.Failed() {
		return p, nil
	}
	r.log.Error("the acting policies can't be used", "revision", active.Number, "problems", problems.Error())
	r.recorders.Record(&core.PolicyChange{
		At: r.clock.Wall(), Action: "poisoned", Revision: active.ID, Number: active.Number, By: "start", Reason: problems.Error(),
	})
	return r.earlier(ctx, active.Number, catalog)
}

// install stores the shipped policies as the first revision.
func (r *rules) install(ctx context.Context) (store.Revision, error) {
	files := policies.Files()
	return r.db.Activate(ctx, store.ActivateRequest{
		Files: files, ID: policy.Digest(files), By: "spillway", Reason: "the policies that came with the program",
		Action: store.ActionDefault,
	})
}

// compareShipped says when this program came with other policies than those
// that act. They are never put in force by themselves: the operator's revision
// is the operator's (R17.6).
func (r *rules) compareShipped(active store.Revision) {
	if policy.Digest(policies.Files()) != active.ID {
		r.log.Info("the policies that came with this program differ from the acting revision, which stays",
			"revision", active.Number, "by", active.By)
	}
}

// earlierRevisions is how far back a revision is looked for that still works.
const earlierRevisions = 10

func (r *rules) earlier(ctx context.Context, before int, catalog *core.Catalog) (*policy.Policy, error) {
	list, err := r.db.Revisions(ctx, before, earlierRevisions)
	if err != nil {
		return nil, err
	}
	for _, info := range list {
		rev, err := r.db.RevisionByNumber(ctx, info.Number)
		if err != nil {
			return nil, err
		}
		if p, problems := r.build(rev.Files, catalog); !problems.Failed() {
			r.log.Error("an earlier revision acts instead, until one is activated", "revision", rev.Number)
			return p, nil
		}
	}
	p, problems := r.build(policies.Files(), catalog)
	if problems.Failed() {
		return nil, fmt.Errorf("no usable policies, not even the shipped ones: %w", problems)
	}
	r.log.Error("the shipped policies act instead, until a revision is activated")
	return p, nil
}

// busyTries is how often policies are looked at when the machine was too busy.
// Every evaluation has a wall clock as its backstop, so that a machine which
// stood still for a moment makes good policies look slow. That alone is tried
// again: the server must start, and take a roll-back, on a busy machine too.
const busyTries = 4

// build compiles policies that have passed the worker, now or before.
func (r *rules) build(files policy.Files, catalog *core.Catalog) (p *policy.Policy, problems policy.Problems) {
	for range busyTries {
		p, problems = policy.Build(files, catalog, policy.Options{Previous: r.acting, OnFailure: r.onFailure})
		if !onlySlow(problems) {
			break
		}
	}
	return p, problems
}

// check holds a draft against a catalog in the worker process.
func (r *rules) check(ctx context.Context, files policy.Files, catalog *core.Catalog) (policy.Problems, error) {
	var report policy.Report
	for range busyTries {
		var err error
		report, err = r.checker.Check(ctx, files, catalog)
		if err != nil || !onlySlow(report.Problems) {
			return report.Problems, err
		}
	}
	return report.Problems, nil
}

// onlySlow reports that nothing but the clock speaks against the policies.
func onlySlow(problems policy.Problems) bool {
	for _, p := range problems {
		if p.Severity == policy.SeverityError && p.Code != policy.CodeDeadline {
			return false
		}
	}
	return problems.Failed()
}

// onFailure is told of evaluations that gave no plan. Each one is in its
// decision; only the end of a revision is worth an event of its own.
func (r *rules) onFailure(f policy.Failure) {
	if f.Code != policy.CodePoisoned {
		return
	}
	r.log.Error("the routing policy was taken out of service: an evaluation could not be stopped", "revision", f.Revision)
	r.recorders.Record(&core.PolicyChange{
		At: r.clock.Wall(), Action: "poisoned", Revision: f.Revision, By: "spillway", Reason: f.String(),
	})
}

// Check returns the problems of a draft, found in the worker process.
func (r *rules) Check(ctx context.Context, files []console.File) ([]console.Problem, error) {
	problems, err := r.check(ctx, fileMap(files), r.engine.Revision().Catalog)
	return problemList(problems), err
}

// Activate checks the files and makes them act as a new revision.
func (r *rules) Activate(ctx context.Context, files []console.File, c console.Change) (console.RevisionInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.activate(ctx, fileMap(files), store.ActivateRequest{
		By: c.By, Reason: c.Reason, Action: store.ActionActivate, ExpectedNumber: c.Expected,
	})
}

// RollBack makes an earlier revision act again, as a new one.
func (r *rules) RollBack(ctx context.Context, number int, c console.Change) (console.RevisionInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rev, err := r.db.RevisionByNumber(ctx, number)
	if err != nil {
		return console.RevisionInfo{}, told(err)
	}
	return r.activate(ctx, rev.Files, store.ActivateRequest{
		By: c.By, Reason: c.Reason, Action: store.ActionRollback, Parent: number, ExpectedNumber: c.Expected,
	})
}

// activate does all that can fail before it touches anything: the worker's
// check, the build, the keys' grants. The caller holds mu.
func (r *rules) activate(ctx context.Context, files policy.Files, req store.ActivateRequest) (console.RevisionInfo, error) {
	none := console.RevisionInfo{}
	if req.ExpectedNumber != r.number {
		return none, fmt.Errorf("revision %d acts by now, not %d: %w", r.number, req.ExpectedNumber, console.ErrStale)
	}
	problems, err := r.check(ctx, files, r.catalog)
	if err != nil {
		return none, err
	}
	if problems.Failed() {
		return none, &console.ProblemsError{Problems: problemList(problems)}
	}
	p, problems := r.build(files, r.catalog)
	if problems.Failed() {
		return none, &console.ProblemsError{Problems: problemList(problems)}
	}
	if err := r.callers.losers(ctx, p); err != nil {
		return none, fmt.Errorf("%w: %w", console.ErrRefused, err)
	}
	req.Files, req.ID = files, p.Revision.ID
	previous := r.acting
	rev, err := r.db.Activate(ctx, req)
	if err != nil {
		return none, told(err)
	}
	r.number, r.files = rev.Number, files
	if err := r.adopt(ctx, p); err != nil {
		return none, err
	}
	r.recorders.Record(&core.PolicyChange{
		At: rev.At, Action: rev.Action, Revision: rev.ID, Previous: previous.Revision.ID, Number: rev.Number,
		By: rev.By, Reason: rev.Reason,
	})
	r.log.Info("policies activated", "revision", rev.Number, "action", rev.Action, "by", rev.By)
	return revisionInfo(rev), nil
}

// adopt puts a built policy in force: the keys' grants, then the engine. An
// engine that refuses it leaves both as they were.
func (r *rules) adopt(ctx context.Context, p *policy.Policy) error {
	if err := r.callers.adopt(ctx, p); err != nil {
		return err
	}
	if err := r.engine.Activate(p.Revision); err != nil {
		return errors.Join(err, r.callers.adopt(ctx, r.acting))
	}
	r.acting = p
	return nil
}

// reconfigure puts a new catalog in force under the same policies.
func (r *rules) reconfigure(ctx context.Context, catalog *core.Catalog) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, problems := r.build(r.files, catalog)
	if problems.Failed() {
		return fmt.Errorf("the acting policies do not fit the new configuration: %w", problems)
	}
	before := r.catalog
	if err := r.upstream.Replace(catalog); err != nil {
		return err
	}
	if err := r.adopt(ctx, p); err != nil {
		return errors.Join(err, r.upstream.Replace(before))
	}
	r.catalog = catalog
	return nil
}

// problemList is how the console shows problems: errors first, as its port says.
func problemList(problems policy.Problems) []console.Problem {
	out := make([]console.Problem, len(problems))
	for i, p := range problems {
		out[i] = console.Problem{
			File: p.File, Row: p.Row, Col: p.Col, Code: p.Code, Message: p.Message, Severity: console.Severity(p.Severity),
		}
	}
	rank := func(p console.Problem) int {
		if p.Severity == console.SeverityError {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b console.Problem) int { return rank(a) - rank(b) })
	return out
}

// close ends the engine's background work and the idle connections.
func (r *rules) close() error {
	if r.engine != nil {
		r.engine.Close()
	}
	r.upstream.CloseIdle()
	return nil
}
