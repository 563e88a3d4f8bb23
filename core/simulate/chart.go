package simulate

import (
	"fmt"
	"io"
	"math"

	"github.com/spillway-llm/spillway/core/circuit"
)

// The chart's measures.
const (
	chartWidth  = 1000.0
	chartLeft   = 250.0
	chartRight  = 20.0
	panelHeight = 140.0
	panelGap    = 44.0
	stripHeight = 14.0
	legendRow   = 18.0
)

// The chart's inks.
const (
	inkText = "#1f2933"
	inkGrid = "#d5dbe1"
	inkBand = "#f2b8a2"
)

// inks are the contenders' colours in turn.
func inks(i int) string {
	return [...]string{"#b45309", "#1d4ed8", "#15803d", "#7e22ce", "#be123c", "#0f766e"}[i%6]
}

// WriteSVG writes the report as a drawing: what was lost and how many calls were
// made over time, and the circuits that moved. The same report gives the same bytes.
func (r *Report) WriteSVG(w io.Writer) error {
	c := chart{report: r}
	c.svg.open(chartWidth, c.height(), r.Scenario+": "+r.Title)
	c.head()
	c.panel("lost requests a second", nil, func(b Bucket) int { return b.Lost })
	c.panel("calls a second; dashed: requests", func(b Bucket) int { return b.Requests }, func(b Bucket) int { return b.Calls })
	for i := range r.Results {
		c.strips(i)
	}
	c.svg.close()
	_, err := w.Write(c.svg.b.Bytes())
	return err
}

// chart is a drawing on its way down the page.
type chart struct {
	report *Report
	svg    svg
	y      float64
}

func (c *chart) height() float64 {
	h := 56 + legendRow*float64(len(c.report.Results)) + 2*(panelHeight+panelGap)
	for i := range c.report.Results {
		if n := len(c.report.Results[i].Circuits); n > 0 {
			h += 24 + stripHeight*float64(n)
		}
	}
	return h + 16
}

// x is where a moment lies.
func (c *chart) x(seconds float64) float64 {
	return chartLeft + (chartWidth-chartLeft-chartRight)*seconds/c.report.DurationS
}

// head writes the title and what the colours mean.
func (c *chart) head() {
	c.svg.text(16, 26, "start", inkText, fmt.Sprintf("%s: %s (seed %d)", c.report.Scenario, c.report.Title, c.report.Seed))
	c.y = 44
	for i := range c.report.Results {
		x := &c.report.Results[i]
		c.svg.rect(16, c.y, 12, 12, inks(i), 1)
		c.svg.text(36, c.y+10, "start", inkText, fmt.Sprintf("%s: loss %.2f %%, amplification %.3f, availability %.3f %%",
			x.Name, x.LossPercent, x.Amplification, x.AvailabilityPercent))
		c.y += legendRow
	}
	c.y += 28
}

// panel draws one figure of each contender over time; base is what all have in
// common, nil for nothing.
func (c *chart) panel(title string, base, figure func(Bucket) int) {
	most := 1
	for _, x := range c.report.Results {
		for _, b := range x.Series {
			most = max(most, figure(b))
			if base != nil {
				most = max(most, base(b))
			}
		}
	}
	top := ceiling(float64(most) / c.report.BucketS)
	c.svg.text(16, c.y+panelHeight/2, "start", inkText, title)
	c.bands(panelHeight)
	for i := range 5 {
		y := c.y + panelHeight - panelHeight*float64(i)/4
		c.svg.line(chartLeft, y, chartWidth-chartRight, y, inkGrid)
		c.svg.text(chartLeft-6, y+4, "end", inkText, fmt.Sprintf("%.6g", top*float64(i)/4))
	}
	if base != nil {
		c.curve(c.report.Results[0].Series, base, top, inkText, "4 3")
	}
	for i := range c.report.Results {
		c.curve(c.report.Results[i].Series, figure, top, inks(i), "")
	}
	c.seconds()
	c.y += panelHeight + panelGap
}

// bands shade the phases.
func (c *chart) bands(height float64) {
	for _, p := range c.report.Phases {
		from, to := min(p.FromS, c.report.DurationS), min(p.ToS, c.report.DurationS)
		c.svg.rect(c.x(from), c.y, c.x(to)-c.x(from), height, inkBand, 0.35)
	}
}

func (c *chart) curve(series []Bucket, figure func(Bucket) int, top float64, ink, dash string) {
	var points []float64
	for i, b := range series {
		value := float64(figure(b)) / c.report.BucketS
		points = append(points, c.x((float64(i)+0.5)*c.report.BucketS), c.y+panelHeight*(1-value/top))
	}
	c.svg.polyline(points, ink, dash)
}

// seconds labels the time below a panel.
func (c *chart) seconds() {
	step := ceiling(c.report.DurationS / 8)
	for s := 0.0; s <= c.report.DurationS; s += step {
		c.svg.text(c.x(s), c.y+panelHeight+16, "middle", inkText, fmt.Sprintf("%.6g s", s))
	}
}

// strips draw the circuits of a contender: solid while open, pale while half-open.
func (c *chart) strips(i int) {
	x := &c.report.Results[i]
	if len(x.Circuits) == 0 {
		return
	}
	c.svg.text(16, c.y+10, "start", inks(i), "circuits, "+x.Name)
	c.y += 18
	c.bands(stripHeight * float64(len(x.Circuits)))
	for _, s := range x.Circuits {
		c.svg.text(chartLeft-6, c.y+11, "end", inkText, s.UseCase+" "+s.Target)
		c.strip(x.Timeline, s, inks(i))
		c.y += stripHeight
	}
	c.y += 6
}

// strip draws one circuit from its changes.
func (c *chart) strip(changes []Change, s Strip, ink string) {
	state, since := circuit.Closed.String(), 0.0
	until := func(seconds float64) {
		seconds = min(seconds, c.report.DurationS)
		opacity := map[string]float64{circuit.Open.String(): 0.9, circuit.HalfOpen.String(): 0.35}[state]
		if opacity > 0 && seconds > since {
			c.svg.rect(c.x(since), c.y+1, c.x(seconds)-c.x(since), stripHeight-2, ink, opacity)
		}
		since = seconds
	}
	for _, x := range changes {
		if x.UseCase == s.UseCase && x.Target == s.Target {
			until(x.AtS)
			state = x.To
		}
	}
	until(c.report.DurationS)
}

// ceiling is the next number of the form 1, 2 or 4 times a power of ten whose
// quarters are short to write.
func ceiling(x float64) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(x))))
	for _, step := range []float64{1, 2, 4, 10} {
		if x <= step*unit {
			return step * unit
		}
	}
	return 10 * unit
}
