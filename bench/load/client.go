// Package load sends prepared requests over many connections and says how the answers came.
package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Request is one prepared request. It is immutable and may be sent by many clients at once.
type Request struct {
	// Bytes are the whole HTTP/1.1 request, header and body.
	Bytes []byte
	// Check says whether the body of a 200 is the whole and right answer.
	Check func(body []byte) error
}

// NewRequest prepares a POST with a JSON body. Header lines have no line end.
func NewRequest(host, path string, header []string, body []byte, check func([]byte) error) *Request {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, host, len(body))
	for _, h := range header {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	return &Request{Bytes: b.Bytes(), Check: check}
}

// client is one keep-alive connection. It costs one write and a few reads per
// request and no goroutine, because it shares the processors with what it measures.
type client struct {
	addr    string
	timeout time.Duration
	conn    net.Conn
	r       *bufio.Reader
	body    []byte
}

// errCut is a connection that ended inside an answer.
var errCut = errors.New("the connection ended inside the answer")

// do sends a request and reads the answer to its end. After an error the
// connection is given up; the next request makes a new one.
func (c *client) do(r *Request) (status int, err error) {
	if c.conn == nil {
		if err := c.dial(); err != nil {
			return 0, err
		}
	}
	status, keep, err := c.exchange(r)
	if err != nil || !keep {
		c.close()
	}
	if err == nil && status == 200 {
		err = r.Check(c.body)
	}
	return status, err
}

func (c *client) dial() error {
	conn, err := net.DialTimeout("tcp", c.addr, c.timeout)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	c.conn, c.r = conn, bufio.NewReaderSize(conn, 16<<10)
	return nil
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close() // given up
		c.conn = nil
	}
}

func (c *client) exchange(r *Request) (status int, keep bool, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, false, fmt.Errorf("set deadline: %w", err)
	}
	if _, err := c.conn.Write(r.Bytes); err != nil {
		return 0, false, fmt.Errorf("send: %w", err)
	}
	head, err := c.head()
	for err == nil && head.status < 200 {
		head, err = c.head()
	}
	if err != nil {
		return 0, false, err
	}
	c.body = c.body[:0]
	switch {
	case head.chunked:
		err = c.chunks()
	case head.length >= 0:
		err = c.take(head.length)
	default:
		c.body, err = io.ReadAll(c.r)
	}
	return head.status, !head.closing && (head.chunked || head.length >= 0), err
}

// head is what matters of an answer's header.
type head struct {
	status           int
	length           int // -1 without one
	chunked, closing bool
}

func (c *client) head() (head, error) {
	h := head{length: -1}
	line, err := c.line()
	if err != nil {
		return h, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return h, fmt.Errorf("not an HTTP/1.1 answer: %.40q", line)
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, fmt.Errorf("status of %.40q: %w", line, err)
	}
	for {
		if line, err = c.line(); err != nil || len(line) == 0 {
			return h, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if h.length, err = strconv.Atoi(string(value)); err != nil {
				return h, fmt.Errorf("content length: %w", err)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			h.chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("Connection")):
			h.closing = bytes.EqualFold(value, []byte("close"))
		}
	}
}

// line reads a line without its end; it is valid until the next read.
func (c *client) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, cut(err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (c *client) chunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return fmt.Errorf("chunk size %.20q: %w", line, err)
		}
		if err := c.take(int(n)); err != nil {
			return err
		}
		if _, err := c.line(); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

// take appends n bytes to the body.
func (c *client) take(n int) error {
	at := len(c.body)
	c.body = append(c.body, make([]byte, n)...)
	if _, err := io.ReadFull(c.r, c.body[at:]); err != nil {
		return cut(err)
	}
	return nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}
