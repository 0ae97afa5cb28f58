#include "textflag.h"

// func prefetchNear(p unsafe.Pointer, n int)
TEXT ·prefetchNear(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	ADDQ CX, SI
	NEGQ CX
	JGE  done
line:
	PREFETCHT0 (SI)(CX*1)
	ADDQ $64, CX
	JLT  line
done:
	RET

// func prefetchRows(p unsafe.Pointer, size, stride, rows int)
TEXT ·prefetchRows(SB), NOSPLIT, $0-32
	MOVQ  p+0(FP), SI
	MOVQ  size+8(FP), BX
	MOVQ  stride+16(FP), DX
	MOVQ  rows+24(FP), CX
	TESTQ CX, CX
	JLE   done
	ADDQ  BX, SI
	NEGQ  BX
	JGE   done
row:
	MOVQ BX, AX
line:
	PREFETCHT0 (SI)(AX*1)
	ADDQ $64, AX
	JLT  line
	ADDQ DX, SI
	DECQ CX
	JNZ  row
done:
	RET

// func prefetchFar(p unsafe.Pointer, n int)
TEXT ·prefetchFar(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	ADDQ CX, SI
	NEGQ CX
	JGE  done
line:
	PREFETCHT1 (SI)(CX*1)
	ADDQ $64, CX
	JLT  line
done:
	RET
