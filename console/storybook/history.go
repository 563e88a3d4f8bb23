package storybook

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/core/audit"
)

const (
	factsJSON = `{"use_case":"assistant","task":"code","priority":5,"audience":"paid","quality":"balanced",
		"latency_budget_ms":5000,"input_tokens":2000,"max_tokens":1024,"stream":true,"model":"claude-opus-5-5",
		"target":"claude-opus-5-5","tenant_class":"","needs":{"tools":true},"language":"en"}`
	planJSON = `{"revision":"a91f03c7","source":"evaluated","steps":[
		{"target":"claude-opus-5-5","first_content_ms":30000,"idle_ms":30000},
		{"target":"claude-sonnet-5","first_content_ms":15000,"idle_ms":30000},
		{"target":"gpt-6-sol","first_content_ms":15000,"idle_ms":30000},
		{"target":"gpt-6-luna","first_content_ms":15000,"idle_ms":30000}],
		"excluded":[{"target":"claude-haiku-5-5","reasons":["context_too_small","needs_tools"]}],
		"scores":[
		{"target":"claude-opus-5-5","total":88375,"terms":[{"name":"success","value":30000},{"name":"latency","value":19000},{"name":"cost","value":12375},{"name":"fit","value":27000}]},
		{"target":"claude-sonnet-5","total":81200,"terms":[{"name":"success","value":29700},{"name":"latency","value":18000},{"name":"cost","value":9500},{"name":"fit","value":24000}]},
		{"target":"gpt-6-sol","total":75010,"terms":[{"name":"success","value":30000},{"name":"latency","value":15000},{"name":"cost","value":9010},{"name":"fit","value":21000}]}],
		"preferred":"claude-opus-5-5","limits":{"max_hops":3,"max_attempts":4,"total_ms":600000},
		"fired":["routing.plan","routing.scores"],"eval_steps":412}`
	snapshotJSON = `{"time_ms":1,"revision":"a91f03c7","catalog":"c0","levels":{"assistant":"degraded"},"live":{
		"claude-opus-5-5":{"circuit":{"assistant":"closed"},"success_permille":871,"p95_ms":1900},
		"claude-sonnet-5":{"circuit":{"assistant":"closed"},"success_permille":990,"p95_ms":1200,"cooling_down":true},
		"gpt-6-sol":{"circuit":{"assistant":"closed"},"success_permille":1000,"p95_ms":1500}}}`
)

func failed(number, step int, target, kind string, status int, start, took int64) audit.Attempt {
	return audit.Attempt{
		Number: number, Step: step, Target: target, Node: "eu-1", Key: "main", StartMS: start, DurationMS: took,
		Kind: kind, Status: status, Type: kind + "_error",
	}
}

func answered(number, step int, target string, start, first, took int64) audit.Attempt {
	return audit.Attempt{
		Number: number, Step: step, Target: target, Node: "us-1", Key: "main", StartMS: start, FirstMS: first,
		DurationMS: took, Kind: "none", Status: 200, Input: 1804, CacheRead: 512, Output: 240,
		Cost: 9_120_000_000, CostKnown: true, PriceAsOf: "2026-11-01",
	}
}

// history is sixty decisions, the newest of which tells the most.
func history(revision string) []audit.Detail {
	var out []audit.Detail
	id := func(n int) string { return fmt.Sprintf("01jdwq7f3a9%03d", n) }
	const count = 60
	for n := count; n >= 1; n-- {
		d := audit.Detail{Decision: audit.Decision{
			Seq: int64(n * 3), ID: id(n), At: Now().Add(-time.Duration(count-n) * 7 * time.Second), UseCase: "assistant", Audience: "paid",
			KeyID: "billing-api", Wire: "anthropic", Asked: "claude-opus-5-5", Target: "claude-opus-5-5", Outcome: "none",
			Status: 200, Situation: "none", Level: "healthy", Revision: revision, Source: "memo",
			Attempts: []audit.Attempt{answered(1, 0, "claude-opus-5-5", 0, 380, 1900)},
			Cost:     9_120_000_000, CostKnown: true, Duration: 1900 * time.Millisecond, FirstContent: 380 * time.Millisecond,
		}, Facts: json.RawMessage(factsJSON), Plan: json.RawMessage(planJSON), Snapshot: json.RawMessage(snapshotJSON), Catalog: "c0c0c0c0aa", DisclosedAs: "target"}
		variant(&d, n)
		if n > 1 {
			d.Previous = id(n - 1)
		}
		if n < count {
			d.Next = id(n + 1)
		}
		d.Body = json.RawMessage(`{"id":"` + d.ID + `","target":"` + d.Target + `","outcome":"` + d.Outcome + `"}`)
		out = append(out, d)
	}
	return out
}

func variant(d *audit.Detail, n int) {
	switch n % 6 {
	case 0:
		d.Target, d.Situation, d.Level, d.Source = "gpt-6-sol", "fallback", "degraded", "evaluated"
		d.Attempts = []audit.Attempt{
			failed(1, 0, "claude-opus-5-5", "overloaded", 529, 0, 410), failed(2, 0, "claude-opus-5-5", "overloaded", 529, 900, 380),
			answered(3, 2, "gpt-6-sol", 1300, 350, 1010),
		}
		d.Attempts[1].WaitMS = 490
		d.Skips = []audit.Skip{{Step: 1, Target: "claude-sonnet-5", Kind: "cooling_down", WaitMS: 17_000}}
		d.Duration, d.DisclosedText = 2310*time.Millisecond, "now on gpt-6-sol (normally claude-opus-5-5)"
	case 1:
		d.Target, d.Outcome, d.Status, d.Situation, d.UseCase, d.CostKnown = "", "no_target", 503, "none", "payments", false
		d.Attempts, d.Skips = nil, []audit.Skip{{Step: 0, Target: "claude-opus-5-5", Kind: "open_circuit", WaitMS: 23_000}}
	case 2:
		d.UseCase, d.Audience = "batch", "free"
	case 3:
		d.Outcome, d.Status, d.Target = "rate_limited", 429, ""
		d.Attempts = []audit.Attempt{failed(1, 0, "claude-opus-5-5", "rate_limited", 429, 0, 120)}
		d.Attempts[0].RetryAfterMS = 20_000
	}
}

// events are one of every kind that the feed knows.
func events() []audit.Event {
	at := Now()
	event := func(seq int64, ago time.Duration, kind, subject, body string) audit.Event {
		return audit.Event{Seq: seq, At: at.Add(-ago), Kind: kind, Subject: subject, Body: json.RawMessage(body)}
	}
	until := at.Add(23 * time.Second).UnixMicro()
	return []audit.Event{
		event(12, 2*time.Second, "transition", "claude-haiku-5-5", `{"target":"claude-haiku-5-5","use_case":"batch","from":"open","to":"half_open","cause":"time"}`),
		event(11, 3*time.Second, "cooldown", "anthropic", fmt.Sprintf(`{"quota_group":"anthropic","key":"main","target":"claude-sonnet-5","until_us":%d,"hinted":true}`, at.Add(17*time.Second).UnixMicro())),
		event(10, 7*time.Second, "level", "assistant", `{"use_case":"assistant","from":"healthy","to":"degraded"}`),
		event(9, 7*time.Second, "transition", "claude-opus-5-5", fmt.Sprintf(`{"target":"claude-opus-5-5","use_case":"assistant","from":"closed","to":"open","cause":"overloaded","until_us":%d}`, until)),
		event(8, 9*time.Second, "budget", "claude-opus-5-5", `{"target":"claude-opus-5-5","tokens":41}`),
		event(7, 20*time.Second, "fault", "anthropic", `{"vendor":"anthropic","fault":"overloaded","by":"admin"}`),
		event(6, 4*time.Minute, "override", "gpt-6-sol", fmt.Sprintf(`{"target":"gpt-6-sol","use_case":"assistant","hold":"forced_open","by":"aki","reason":"vendor maintenance","until_us":%d}`, at.Add(11*time.Minute).UnixMicro())),
		event(5, 14*time.Minute, "policy", "a91f03c7", `{"action":"activate","revision":"a91f03c7","number":3,"by":"mika","reason":"weigh success higher"}`),
		event(4, time.Hour, "key", "openai/main", `{"provider":"openai","key":"main","usable":false,"kind":"billing","by":"vendor"}`),
		event(3, time.Hour, "config", "c0", `{"digest":"c0","by":"admin","refused":"targets[2].provider: \"opnai\" is not configured"}`),
		event(2, 2*time.Hour, "gap", "run", `{"cause":"crash","missing":17,"exact":true}`),
		event(1, 2*time.Hour, "run", "run", `{"what":"started","after_crash":true}`),
	}
}
