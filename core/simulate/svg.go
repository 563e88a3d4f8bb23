package simulate

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// svg writes a drawing, the same bytes for the same calls: coordinates are
// rounded to a tenth.
type svg struct{ b bytes.Buffer }

func (d *svg) open(width, height float64, title string) {
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" font-family="system-ui, sans-serif" font-size="12">`+"\n",
		tenth(width), tenth(height), tenth(width), tenth(height))
	fmt.Fprintf(&d.b, "<title>%s</title>\n", escaped(title))
	d.rect(0, 0, width, height, "#ffffff", 1)
}

func (d *svg) close() { d.b.WriteString("</svg>\n") }

func (d *svg) rect(x, y, width, height float64, fill string, opacity float64) {
	fmt.Fprintf(&d.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"`, tenth(x), tenth(y), tenth(width), tenth(height), fill)
	if opacity < 1 {
		fmt.Fprintf(&d.b, ` fill-opacity="%g"`, opacity)
	}
	d.b.WriteString("/>\n")
}

func (d *svg) line(x1, y1, x2, y2 float64, stroke string) {
	fmt.Fprintf(&d.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s"/>`+"\n", tenth(x1), tenth(y1), tenth(x2), tenth(y2), stroke)
}

// polyline draws points given as x, y, x, y, …; dash is "" for a solid line.
func (d *svg) polyline(points []float64, stroke, dash string) {
	words := make([]string, 0, len(points)/2)
	for i := 0; i+1 < len(points); i += 2 {
		words = append(words, tenth(points[i])+","+tenth(points[i+1]))
	}
	fmt.Fprintf(&d.b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"`, strings.Join(words, " "), stroke)
	if dash != "" {
		fmt.Fprintf(&d.b, ` stroke-dasharray="%s"`, dash)
	}
	d.b.WriteString("/>\n")
}

// text anchors a text at its "start", "middle" or "end".
func (d *svg) text(x, y float64, anchor, fill, text string) {
	fmt.Fprintf(&d.b, `<text x="%s" y="%s" text-anchor="%s" fill="%s">%s</text>`+"\n", tenth(x), tenth(y), anchor, fill, escaped(text))
}

func tenth(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // memory can't fail
	return b.String()
}
