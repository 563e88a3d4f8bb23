package translate

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// chatPart writes a block of a user's message or of a tool result as parts of a
// Chat Completions message: none for an empty text or for what blocks.
func (d *draft) chatPart(block []byte, at, typ string) []part {
	switch typ {
	case "text":
		if text := d.text(block, at); len(text) > 2 {
			return []part{{text: text}}
		}
		return nil
	case "image":
		return d.imageURL(block, at)
	case "document":
		return d.document(block, at)
	case "search_result":
		return d.searchResult(block, at)
	}
	d.block(at + ".type=" + label([]byte(typ)))
	return nil
}

// imageURL writes a picture.
func (d *draft) imageURL(block []byte, at string) []part {
	f := d.read(block, at+".", func(name string) fate {
		if name == "transformations" {
			return dropped
		}
		return only("type", "source")(name)
	})
	if !d.target.Capabilities.Images || d.target.Profile.NoContentParts {
		d.block(at + ".type=image")
		return nil
	}
	s := d.read(f.get("source"), at+".source.", only("type", "media_type", "data", "url", "file_id"))
	if kind(f.get("source")) != "object" {
		return nil
	}
	var url []byte
	switch typ := string(walk.Bytes(s.get("type"))); {
	case typ == "url" && walk.IsString(s.get("url")) && !d.target.Profile.NoImageURLs:
		url = s.get("url")
	case typ == "base64" && walk.IsString(s.get("media_type")) && walk.IsString(s.get("data")):
		url = dataURL(s)
	default:
		d.block(at + ".source.type=" + label([]byte(typ)))
		return nil
	}
	return []part{{object: append(append([]byte(`{"type":"image_url","image_url":{"url":`), url...), "}}"...)}}
}

// dataURL returns a base64 source as a data URL, without decoding it.
func dataURL(source fields) []byte {
	mime, data := source.get("media_type"), source.get("data")
	b := append([]byte(`"data:`), mime[1:len(mime)-1]...)
	b = append(b, ";base64,"...)
	return append(b, data[1:]...)
}

// documentField is the fate of a field of a document or search result.
func documentField(name string) fate {
	return only("type", "source", "title", "context", "content", "citations")(name)
}

// cited blocks a document that is to be cited: the other form has no place for
// citations, and an answer without them is not what was asked for.
func (d *draft) cited(f fields, at string) {
	if v := f.get("citations"); v != nil && string(walk.Get(v, "enabled")) == "true" {
		d.block(at + ".citations.enabled")
	}
}

// document writes a document: a PDF as a file, anything else as text.
func (d *draft) document(block []byte, at string) []part {
	f := d.read(block, at+".", documentField)
	d.cited(f, at)
	s := d.read(f.get("source"), at+".source.", only("type", "media_type", "data", "content", "url", "file_id"))
	if kind(f.get("source")) != "object" {
		return nil
	}
	title, context := string(d.word(f, "title", at+".")), string(d.word(f, "context", at+"."))
	switch typ := string(walk.Bytes(s.get("type"))); {
	case typ == "base64" && string(walk.Bytes(s.get("media_type"))) == "application/pdf" && walk.IsString(s.get("data")):
		if !d.target.Capabilities.Documents || d.target.Profile.NoFiles || d.target.Profile.NoContentParts {
			d.block(at + ".type=document")
			return nil
		}
		if context != "" {
			d.drop("context", at+".context")
		}
		return []part{{object: d.file(s, title, at)}}
	case typ == "text" && walk.IsString(s.get("data")):
		d.change("document", at+".type=document", "carried as text")
		return []part{headed(title, context, "", walk.Bytes(s.get("data")))}
	case typ == "content" && s.get("content") != nil:
		d.change("document", at+".type=document", "carried as text")
		return append([]part{headed(title, context, "", nil)}, d.contentParts(s.get("content"), at+".source.content")...)
	default:
		d.block(at + ".source.type=" + label([]byte(typ)))
		return nil
	}
}

// file writes a PDF.
func (d *draft) file(source fields, title, at string) []byte {
	name := title
	if name == "" {
		name = "document"
		d.change("document", at+".type=document", "named document.pdf")
	}
	if !strings.HasSuffix(strings.ToLower(name), ".pdf") {
		name += ".pdf"
	}
	b := quote.Append([]byte(`{"type":"file","file":{"filename":`), name)
	b = append(append(b, `,"file_data":`...), dataURL(source)...)
	return append(b, "}}"...)
}

// headed returns a text with what is known about it above it.
func headed(title, context, source string, text []byte) part {
	var b bytes.Buffer
	for _, line := range [...][2]string{{"Title", title}, {"Source", source}, {"Context", context}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
		}
	}
	if b.Len() == 0 {
		b.WriteString("Document:\n")
	}
	if text != nil {
		b.WriteByte('\n')
		b.Write(text)
	}
	return part{text: quote.Append(nil, b.Bytes())}
}

// contentParts reads a content that is a part of a document.
func (d *draft) contentParts(content []byte, path string) []part {
	if walk.IsString(content) {
		return []part{{text: content}}
	}
	var parts []part
	d.each(content, path, func(at string, block []byte) {
		switch typ := string(walk.Bytes(walk.Get(block, "type"))); typ {
		case "text", "image":
			parts = append(parts, d.chatPart(block, at, typ)...)
		default:
			d.block(at + ".type=" + label([]byte(typ)))
		}
	})
	return parts
}

// searchResult writes a search result as text.
func (d *draft) searchResult(block []byte, at string) []part {
	f := d.read(block, at+".", documentField)
	d.cited(f, at)
	source := string(d.word(f, "source", at+"."))
	d.change("search_result", at+".type=search_result", "carried as text")
	head := headed(string(d.word(f, "title", at+".")), "", source, nil)
	return append([]part{head}, d.contentParts(f.get("content"), at+".content")...)
}
