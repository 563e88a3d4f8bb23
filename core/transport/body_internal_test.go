package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"pgregory.net/rapid"
)

func TestBody_Read(t *testing.T) {
	t.Parallel()
	b := newBody(func() {})
	want := bytes.Repeat([]byte("0123456789"), 100)
	for i := 0; i < len(want); i += 7 {
		if err := b.write(want[i:min(i+7, len(want))]); err != nil {
			t.Fatal(err)
		}
	}
	b.end(nil)
	if err := iotest.TestReader(b, want); err != nil {
		t.Error(err)
	}
}

// Whatever the order of writes and reads, every byte arrives once and in order.
func TestBody_Order(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newBody(func() {})
		var in, out bytes.Buffer
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			if part := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "part"); rapid.Bool().Draw(t, "write") {
				in.Write(part)
				if err := b.write(part); err != nil {
					t.Fatal(err)
				}
			} else if in.Len() > out.Len() {
				n, err := b.Read(part)
				if err != nil || n == 0 {
					t.Fatalf("read %d, %v", n, err)
				}
				out.Write(part[:n])
			}
		}
		b.end(nil)
		rest, err := io.ReadAll(b)
		out.Write(rest)
		if err != nil || !bytes.Equal(in.Bytes(), out.Bytes()) {
			t.Fatalf("%q came out as %q, %v", in.Bytes(), out.Bytes(), err)
		}
	})
}

func TestBody_EndsWithTheFailure(t *testing.T) {
	t.Parallel()
	b, failure := newBody(func() {}), errors.New("cut")
	if err := b.write([]byte("some")); err != nil {
		t.Fatal(err)
	}
	b.end(failure)
	got, err := io.ReadAll(b)
	if string(got) != "some" || !errors.Is(err, failure) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestBody_TooMuchUnread(t *testing.T) {
	t.Parallel()
	b := newBody(func() {})
	b.most = 10
	p := make([]byte, 10)
	if err := b.write(p); err != nil {
		t.Fatal(err)
	}
	if err := b.write(p[:1]); !errors.Is(err, errUnread) {
		t.Errorf("one byte too many: %v", err)
	}
	if n, err := b.Read(p); n != 10 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	if err := b.write(p); err != nil {
		t.Errorf("after a read: %v", err)
	}
}

// Close wakes a reader and waits for the end.
func TestBody_Close(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cancelled := false
		b := newBody(func() { cancelled = true })
		var read, closed error
		closed = errors.New("not yet")
		go func() { _, read = b.Read(make([]byte, 1)) }()
		go func() { closed = b.Close() }()
		synctest.Wait()
		if !errors.Is(read, http.ErrBodyReadAfterClose) || !cancelled || closed == nil {
			t.Errorf("read %v, cancelled %v, closed %v", read, cancelled, closed)
		}
		if err := b.write([]byte("x")); err == nil {
			t.Error("a closed body takes events")
		}
		b.end(errors.New("caller gone"))
		synctest.Wait()
		if closed != nil {
			t.Errorf("close: %v", closed)
		}
	})
}
