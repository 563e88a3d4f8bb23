package translate

import (
	"bytes"
	"strings"

	"github.com/spillway-llm/spillway/core/wire/walk"
)

// image writes a picture as an image block, nil when it blocks.
func (d *draft) image(v []byte, at string) []byte {
	f := d.read(v, at+".", only("url", "detail"))
	if kind(v) != "object" {
		return nil
	}
	if detail := walk.Bytes(f.get("detail")); len(detail) > 0 && string(detail) != "auto" {
		d.drop("detail", at+".detail")
	}
	url := f.get("url")
	if !d.target.Capabilities.Images || !walk.IsString(url) {
		d.block(at)
		return nil
	}
	raw := walk.Bytes(url)
	if !bytes.HasPrefix(raw, []byte("data:")) {
		if !bytes.HasPrefix(raw, []byte("http://")) && !bytes.HasPrefix(raw, []byte("https://")) {
			d.block(at + ".url")
			return nil
		}
		return append(append([]byte(`{"type":"image","source":{"type":"url","url":`), url...), "}}"...)
	}
	mime, data, ok := splitDataURL(raw)
	switch mime {
	case "image/jpg":
		mime = "image/jpeg" // no such type, and yet often written
	case "image/jpeg", "image/png", "image/gif", "image/webp":
	default:
		ok = false
	}
	if !ok {
		d.block(at + ".url")
		return nil
	}
	return appendSource([]byte(`{"type":"image",`), mime, data)
}

// pdf writes a PDF as a document block, nil when it blocks.
func (d *draft) pdf(v []byte, at string) []byte {
	f := d.read(v, at+".", only("filename", "file_data", "file_id"))
	if kind(v) != "object" {
		return nil
	}
	if f.get("file_id") != nil {
		d.block(at + ".file_id") // the vendor's own storage holds it
		return nil
	}
	mime, data, ok := splitDataURL(walk.Bytes(f.get("file_data")))
	if !ok && f.get("file_data") != nil && bytes.HasPrefix(walk.Bytes(f.get("file_data")), []byte("JVBERi0")) {
		mime, data, ok = "application/pdf", walk.Bytes(f.get("file_data")), true
	}
	if !ok || mime != "application/pdf" || !isBase64(data) || !d.target.Capabilities.Documents {
		d.block(at + ".file_data")
		return nil
	}
	b := []byte(`{"type":"document",`)
	if name := f.get("filename"); walk.IsString(name) && !blank(name) {
		b = append(append(append(b, `"title":`...), name...), ',')
	}
	return appendSource(b, mime, data)
}

// splitDataURL takes a base64 data URL apart.
func splitDataURL(url []byte) (mime string, data []byte, ok bool) {
	head, data, ok := bytes.Cut(url, []byte(","))
	meta, isData := strings.CutPrefix(string(head), "data:")
	meta, is64 := strings.CutSuffix(meta, ";base64")
	mime, _, _ = strings.Cut(meta, ";")
	return strings.ToLower(mime), data, ok && isData && is64 && isBase64(data)
}

// isBase64 reports whether data has base64's letters only, so that it can stand
// in a JSON string as it is.
func isBase64(data []byte) bool {
	for _, c := range data {
		if !alphanumeric(rune(c)) && c != '+' && c != '/' && c != '=' && c != '-' && c != '_' {
			return false
		}
	}
	return len(data) > 0
}

// appendSource appends a base64 source and closes the block.
func appendSource(dst []byte, mime string, data []byte) []byte {
	dst = append(dst, `"source":{"type":"base64","media_type":"`...)
	dst = append(append(dst, mime...), `","data":"`...)
	return append(append(dst, data...), `"}}`...)
}
