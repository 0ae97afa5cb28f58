package checkpoint

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// torchFile returns the path of a file that torch.save wrote.
func torchFile(name string) string { return filepath.Join("..", "testdata", "transformers", name) }

// TestReadTorch: every element type, views of one storage and strides are read as PyTorch reads
// them.
func TestReadTorch(t *testing.T) {
	file, err := ReadTorch(torchFile("views.pt"))
	require.NoError(t, err)
	eighths := func(numbers ...float32) []float32 {
		for i := range numbers {
			numbers[i] /= 8
		}
		return numbers
	}
	whole := make([]float32, 24)
	for i := range whole {
		whole[i] = float32(i) / 8
	}
	var turned []float32 // [6, 4] of [4, 6]
	for i := range 24 {
		turned = append(turned, whole[i%4*6+i/4])
	}
	want := map[string]Tensor{
		"whole": {Shape: []int{24}, Data: whole}, "shared": {Shape: []int{3, 4}, Data: whole[4:16]}, "turned": {Shape: []int{6, 4}, Data: turned},
		"every": {Shape: []int{8}, Data: eighths(0, 3, 6, 9, 12, 15, 18, 21)}, "one": {Data: []float32{7}}, "none": {Shape: []int{0, 3}, Data: []float32{}},
		"parameter": {Shape: []int{2}, Data: eighths(0, 1)}, "half": {Shape: []int{3}, Data: eighths(0, 1, 2)}, "bfloat": {Shape: []int{3}, Data: eighths(0, 1, 2)},
		"double": {Shape: []int{3}, Data: []float64{0, 0.125, 0.25}}, "long": {Shape: []int{3}, Data: []int64{0, 1, 2}}, "int": {Shape: []int{3}, Data: []int32{0, 1, 2}},
		"byte": {Shape: []int{3}, Data: []uint8{0, 1, 2}}, "mask": {Shape: []int{2}, Data: Undecoded{"BOOL"}},
	}
	require.Len(t, file.Tensors, len(want))
	for _, got := range file.Tensors {
		w := want[got.Name]
		w.Name = got.Name
		assert.Equal(t, w, got)
	}
}

// torchZip returns a file of torch.save with another data.pkl and storages.
func torchZip(t testing.TB, pickle string, storages map[string]string) string {
	var content bytes.Buffer
	w := zip.NewWriter(&content)
	add := func(name, text string) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: "x/" + name, Method: zip.Store})
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	add("data.pkl", pickle)
	for key, data := range storages {
		add("data/"+key, data)
	}
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "x.pt")
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o600))
	return path
}

// The parts of pickles.
const (
	storageOf4 = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
	rebuild    = "ctorch._utils\n_rebuild_tensor_v2\n"
)

// view returns a pickle of {"w": a tensor of 4 numbers} with an offset, a shape and a stride.
func view(offset, shape, stride string) string {
	return "\x80\x02}X\x01\x00\x00\x00w" + rebuild + "(" + storageOf4 + offset + shape + "\x85" + stride + "\x85\x89ccollections\nOrderedDict\n)Rt" + "Rs."
}

// TestTorchRefuses: other classes, hostile programs and sizes that the file does not have are
// refused in one line.
func TestTorchRefuses(t *testing.T) {
	numbers := map[string]string{"0": strings.Repeat("\x00\x00\x80\x3f", 4)}
	good, err := ReadTorch(torchZip(t, view("K\x01", "K\x03", "K\x01"), numbers))
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1, 1}, good.Tensors[0].Data)
	for name, c := range map[string]struct {
		pickle, want string
		storages     map[string]string
	}{
		"a call":            {"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "class \"os.system\": want weights alone, of OrderedDict and torch's tensors", nil},
		"an old class":      {"\x80\x02(cos\nsystem\no.", "want the instructions that torch.save writes, got 0x6f", nil},
		"a whole module":    {"\x80\x02cmodel\nGPT\n)\x81.", "class \"model.GPT\": want weights alone", nil},
		"beyond a storage":  {view("K\x02", "K\x03", "K\x01"), "want entries up to 4 of a storage, got one of 4", numbers},
		"a stride beyond":   {view("K\x00", "K\x03", "K\x02"), "want entries up to 4 of a storage, got one of 4", numbers},
		"a negative stride": {view("K\x03", "K\x03", "J\xff\xff\xff\xff"), "want axes and strides >= 0", numbers},
		"one number often":  {view("K\x00", "J\xff\xff\xff\x7f", "K\x00"), "want tensors that take no more memory than the file", numbers},
		"no storage":        {view("K\x00", "K\x04", "K\x01"), "want an entry data/0, got none", nil},
		"a short storage":   {view("K\x00", "K\x04", "K\x01"), "entry data/0: want 16 bytes, stored as they are, got 4", map[string]string{"0": "abcd"}},
		"nothing":           {"", "pickle: want 1 bytes at byte 0, got 0", nil},
		"a long text":       {"\x80\x02X\xff\xff\xff\x7f", "pickle: want 2147483647 bytes", nil},
		"an empty stack":    {"\x80\x02.", "want a value on the stack, got none", nil},
		"no mark":           {"\x80\x02K\x01t.", "want a mark on the stack, got none", nil},
		"no memo":           {"\x80\x02h\x07.", "want value 7 of the memo, got none", nil},
		"a list":            {"\x80\x02].", "want a dict of tensors at [], got *checkpoint.pickleList", nil},
		"a list as a key":   {"\x80\x02}]K\x01s.", "want texts and numbers as keys of a dict", nil},
	} {
		_, err := ReadTorch(torchZip(t, c.pickle, c.storages))
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "\n", name)
	}
	path := filepath.Join(t.TempDir(), "legacy.pt")
	require.NoError(t, os.WriteFile(path, []byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), 0o600))
	_, err = ReadTorch(path)
	require.ErrorContains(t, err, "load a file of PyTorch before 1.6, or of another kind, in Python, and save it by torch.save or as safetensors")
	whole, err := os.ReadFile(torchFile("views.pt"))
	require.NoError(t, err)
	for _, n := range []int{0, 3, 100, len(whole) / 2, len(whole) - 1} {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o600))
		_, err := ReadTorch(path)
		require.Error(t, err, "%d bytes", n)
	}
}

// FuzzPickle: no program makes the machine panic, or take memory beyond its length.
func FuzzPickle(f *testing.F) {
	f.Add([]byte(view("K\x01", "K\x03", "K\x01")))
	f.Add([]byte("\x80\x02}q\x00(h\x00h\x00u."))
	f.Fuzz(func(t *testing.T, code []byte) {
		m := pickleMachine{code: code, call: callTorch, persistent: persistentTorch}
		_, _ = m.run()
		require.LessOrEqual(t, len(m.stack), len(code))
	})
}
