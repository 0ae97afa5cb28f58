package cuda

// alignment is the alignment of every piece of the workspace, in bytes.
const alignment = 256

// workspace is scratch memory that successive launches reuse. It grows in the first steps of a run
// and stays allocated.
type workspace struct {
	blocks []Array // as arrays of F32
	next   int     // bytes used in the last block
	wanted int     // bytes returned since reset

	version int // changes with the blocks
}

// take returns memory that is valid until the next reset.
func (w *workspace) take(d Executor, t Type, n int) (Array, error) {
	bytes := (n*t.Size() + alignment - 1) / alignment * alignment
	w.wanted += bytes
	if len(w.blocks) == 0 || w.next+bytes > w.last().Bytes() {
		block, err := d.Alloc(F32, max(bytes, w.capacity())/4)
		if err != nil {
			return Array{}, err
		}
		w.blocks, w.next = append(w.blocks, block), 0
		w.version++
	}
	a := Array{w.last().Ptr + uint64(w.next), t, n}
	w.next += bytes
	return a, nil
}

func (w *workspace) last() Array { return w.blocks[len(w.blocks)-1] }

func (w *workspace) capacity() int {
	n := 0
	for _, b := range w.blocks {
		n += b.Bytes()
	}
	return n
}

// reset takes all pieces back. It replaces several blocks by one, so that the next launch with the
// same needs finds a block that holds them all.
func (w *workspace) reset(d Executor) {
	if len(w.blocks) > 1 {
		n := w.wanted
		w.free(d)
		if block, err := d.Alloc(F32, n/4); err == nil {
			w.blocks = append(w.blocks, block)
		}
	}
	w.next, w.wanted = 0, 0
}

func (w *workspace) free(d Executor) {
	for _, b := range w.blocks {
		d.Free(b)
	}
	w.blocks, w.next = nil, 0
	w.version++
}
