#include "textflag.h"

// func prefetchRows(p unsafe.Pointer, size, stride, rows int)
TEXT ·prefetchRows(SB), NOSPLIT, $0-32
	MOVD p+0(FP), R0
	MOVD size+8(FP), R1
	MOVD stride+16(FP), R2
	MOVD rows+24(FP), R3
	CMP  $0, R3
	BLE  done
	CMP  $0, R1
	BLE  done
row:
	MOVD R0, R4
	MOVD R1, R5
line:
	PRFM (R4), PLDL1KEEP
	ADD  $64, R4
	SUBS $64, R5
	BGT  line
	ADD  R2, R0
	SUBS $1, R3
	BNE  row
done:
	RET

// func prefetchFar(p unsafe.Pointer, n int)
TEXT ·prefetchFar(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	CMP  $0, R1
	BLE  done
line:
	PRFM (R0), PLDL2KEEP
	ADD  $64, R0
	SUBS $64, R1
	BGT  line
done:
	RET
