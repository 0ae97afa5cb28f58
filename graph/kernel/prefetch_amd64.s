#include "textflag.h"

// func prefetchBytes(p unsafe.Pointer, n int)
TEXT ·prefetchBytes(SB), NOSPLIT, $0-16
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
