package checkpoint

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/fuzztest"
)

// TestHostilePickles: programs that make many values of few bytes, of any kind of value, take no
// more memory than their length justifies, and are read or refused in one line.
func TestHostilePickles(t *testing.T) {
	const size = 5 << 20
	numbers := map[string]string{"0": strings.Repeat("\x00\x00\x80\x3f", 4)}
	tensor := rebuild + "(" + storageOf4 + "K\x00K\x02\x85K\x01\x85\x89Nt" + "R"
	var keys, views strings.Builder
	for i := range uint32(size / 11) {
		number := binary.LittleEndian.AppendUint32(nil, i)
		keys.WriteString("X\x04\x00\x00\x00" + strings.Map(func(r rune) rune { return r & 127 }, string(number)) + "h\x07")
		views.WriteString("h\x03(h\x02K\x00h\x01h\x01\x89NtR")
	}
	fill := func(part string) string { return strings.Repeat(part, size/len(part)) }
	for name, pickle := range map[string]string{
		"values":            fill("N"),
		"marks":             fill("("),
		"tuples of one":     "N" + fill("\x85"),
		"lists":             fill("]"),
		"dicts":             fill("}"),
		"dicts of one":      fill("}NNs"),
		"memo":              "N" + fill("\x94"),
		"long memo":         "N" + fill("r\x00\x00\x00\x7f"),
		"numbers":           fill("K\x01"),
		"texts":             fill("\x8c\x01a"),
		"classes":           fill("ca\nb\n"),
		"dicts of classes":  "ccollections\nOrderedDict\nq\x00" + fill("h\x00)R"),
		"a long list":       "]" + fill("("+strings.Repeat("N", 1000)+"e"),
		"a long dict":       "}q\x00" + numbersOfDict(size),
		"a tuple twice":     "(" + strings.Repeat("N", size/8) + "tq\x00" + fill("h\x00"),
		"a shape of many":   "(" + strings.Repeat("K\x01", 50_000) + "tq\x01" + storageOf4 + "q\x02" + rebuild[:len(rebuild)-1] + "\nq\x03" + views.String() + ".",
		"a tensor of names": tensor + "q\x07}(" + keys.String() + "u.",
	} {
		t.Run(name, func(t *testing.T) {
			path := torchZip(t, "\x80\x02"+pickle, numbers)
			fuzztest.Bounded(t, len(pickle), func() {
				_, err := ReadTorch(path)
				fuzztest.OneLine(t, err)
				require.Error(t, err)
				require.Less(t, len(err.Error()), 400)
			})
		})
	}
}

// numbersOfDict returns instructions that fill a dict, of about n bytes.
func numbersOfDict(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString("J" + string(binary.LittleEndian.AppendUint32(nil, uint32(i))) + "Ns")
	}
	return b.String()
}

// TestHostileStorages: sizes, offsets and strides that the file does not have are refused before
// memory is taken for them.
func TestHostileStorages(t *testing.T) {
	numbers := map[string]string{"0": strings.Repeat("\x00\x00\x80\x3f", 4)}
	long := func(n uint64) string { return string(binary.LittleEndian.AppendUint64([]byte("\x8a\x08"), n)) }
	claims := func(elements string) string {
		return strings.Replace(view("K\x00", "K\x02", "K\x01"), "K\x04tQ", elements+"tQ", 1)
	}
	for name, c := range map[string]struct{ pickle, want string }{
		"an offset near 2^63":         {view(long(math.MaxInt64), "K\x02", "K\x01"), "of a storage, got one of 4"},
		"an offset below 0":           {view(long(math.MaxUint64), "K\x02", "K\x01"), "of a storage, got one of 4"},
		"elements that wrap to 4":     {claims(long(1<<62 + 4)), "want one of torch's storages of numbers"},
		"a negative size":             {claims(long(math.MaxUint64)), "want one of torch's storages of numbers"},
		"more elements than the file": {claims(long(1 << 40)), "entry data/0: want 4398046511104 bytes, stored as they are, got 16"},
		"a stride of 2^30":            {strings.Replace(strings.Replace(view("K\x00", "K\x02", "K\x01"), "K\x04tQ", long(1<<40)+"tQ", 1), "K\x01\x85\x89", "J\x00\x00\x00\x40\x85\x89", 1), "want tensors that take no more memory than the file"},
		"an axis of 2^31":             {view("K\x00", long(1<<31), "K\x00"), "want axes and strides >= 0, and an int32"},
		"a class of two lines":        {"\x80\x02X\x04\x00\x00\x00a\nbcX\x01\x00\x00\x00d\x93)R.", `class "a\nbc.d": want weights alone`},
		"an OrderedDict of pairs":     {"\x80\x02ccollections\nOrderedDict\n]\x85R.", "OrderedDict: want an empty one that is filled, got arguments"},
		"a pickle in a pickle":        {"\x80\x02cpickle\nloads\nC\x03\x80\x02.\x85R.", `class "pickle.loads": want weights alone`},
		"a key of a megabyte":         {strings.Replace(view("K\x00", "K\x02", "K\x01"), "X\x01\x00\x00\x000", "X\x00\x00\x10\x00"+strings.Repeat("0", 1<<20), 1), "want one of torch's storages of numbers, with a number as its key"},
	} {
		path := torchZip(t, c.pickle, numbers)
		fuzztest.Bounded(t, len(c.pickle), func() {
			_, err := ReadTorch(path)
			require.ErrorContains(t, err, c.want, name)
			fuzztest.OneLine(t, err)
		})
	}
}

// ggufBytes returns a GGUF file of numbers (by their sizes), texts with their lengths, and bytes.
func ggufBytes(parts ...any) []byte {
	h := ggufText{}
	h.put([]byte("GGUF"), uint32(3))
	for _, p := range parts {
		if text, ok := p.(string); ok {
			h.text(text)
		} else {
			h.put(p)
		}
	}
	return h.Bytes()
}

// TestHostileGGUF: counts, lengths, sizes and offsets that a GGUF file does not have are refused
// before memory is taken for them.
func TestHostileGGUF(t *testing.T) {
	const size, none = 5 << 20, uint64(0)
	place := func(offset uint64, axes ...uint64) []any {
		return []any{uint64(1), none, "w", uint32(len(axes)), axes, uint32(GGUFF32), offset}
	}
	var keys, many ggufText
	for i := range size / 20 {
		keys.text(string(binary.LittleEndian.AppendUint32(nil, uint32(i))))
		keys.put(ggufUint32, uint32(1000))
	}
	for range size / 32 {
		many.put(none, uint32(1), uint64(0), uint32(GGUFF32), none)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"tensors":                {ggufBytes(uint64(math.MaxUint64), none), "truncated"},
		"entries":                {ggufBytes(none, uint64(math.MaxUint64)), "truncated"},
		"a key":                  {ggufBytes(none, uint64(1), uint64(math.MaxUint64)), "truncated"},
		"a text":                 {ggufBytes(none, uint64(1), "k", ggufString, uint64(1<<63)), "truncated"},
		"a list of numbers":      {ggufBytes(none, uint64(1), "k", ggufArray, uint32(10), uint64(1<<61)), "want a list of numbers or texts"},
		"a list of texts":        {ggufBytes(none, uint64(1), "k", ggufArray, ggufString, uint64(1<<61)), "want a list of numbers or texts"},
		"a list of lists":        {ggufBytes(none, uint64(1), "k", ggufArray, ggufArray, uint64(1), ggufArray, uint64(1)), "of type 9"},
		"an unknown type":        {ggufBytes(none, uint64(1), "k", uint32(77), none), "want a type of GGUF, got the number 77"},
		"an axis":                {ggufBytes(place(0, math.MaxUint64)...), "want axes up to 2147483647"},
		"axes":                   {ggufBytes(place(0, 1<<31-1, 1<<31-1, 1<<31-1, 1<<31-1)...), "elements"},
		"elements":               {ggufBytes(place(0, 1<<31-1, 1<<31-1)...), "bytes from byte 0 of the data"},
		"an offset":              {append(ggufBytes(place(1<<63-1, 4)...), make([]byte, 64)...), "want 16 bytes from byte 9223372036854775807 of the data"},
		"an offset below 0":      {append(ggufBytes(place(1<<63, 4)...), make([]byte, 64)...), "want 16 bytes from byte -9223372036854775808 of the data"},
		"an alignment":           {append(ggufBytes(uint64(1), uint64(1), "general.alignment", ggufUint32, uint32(1<<20), "w", uint32(1), uint64(4), uint32(0), none), make([]byte, 64)...), "truncated or damaged"},
		"tensors on one another": {append(ggufBytes(append([]any{uint64(4), none}, slices.Repeat(place(0, 16)[2:], 4)...)...), make([]byte, 64+32)...), "tensors of more bytes than the file's"},
		"many bytes":             {append(ggufBytes(none, uint64(1), "k", ggufArray, uint32(0), uint64(size)), make([]byte, size)...), ""},
		"many texts":             {append(ggufBytes(none, uint64(1), "k", ggufArray, ggufString, uint64(size/8)), make([]byte, size)...), ""},
		"many keys":              {append(ggufBytes(none, uint64(size/20)), keys.Bytes()...), ""},
		"many tensors":           {append(append(ggufBytes(uint64(size/32), none), many.Bytes()...), make([]byte, 64)...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.gguf")
			require.NoError(t, os.WriteFile(path, c.content, 0o600))
			fuzztest.Bounded(t, len(c.content), func() {
				_, err := ReadGGUF(path)
				fuzztest.OneLine(t, err)
				if c.want == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, c.want)
				}
			})
		})
	}
}
