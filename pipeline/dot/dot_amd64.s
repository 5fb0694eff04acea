#include "textflag.h"

// func dotAVX2(query *int16, rows *int8, dims, n int, out *int32)
//
// Four rows at a time: 16 numbers of each are widened to 16 bits, multiplied with the
// query's and added in pairs into eight 32-bit sums, which are added up at the row's end.
TEXT ·dotAVX2(SB), NOSPLIT, $0-40
	MOVQ query+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ dims+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ out+32(FP), BX

rows4:
	CMPQ CX, $4
	JLT  done
	LEAQ (DI)(DX*1), R8
	LEAQ (R8)(DX*1), R9
	LEAQ (R9)(DX*1), R10
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	XORQ AX, AX
	MOVQ DI, R11

lane16:
	// 64 bytes of the four rows are used up in four rounds; each fetches as many ahead.
	PREFETCHT0 4096(R11)
	ADDQ      $64, R11
	VMOVDQU   (SI)(AX*2), Y4
	VPMOVSXBW (DI)(AX*1), Y5
	VPMOVSXBW (R8)(AX*1), Y6
	VPMOVSXBW (R9)(AX*1), Y7
	VPMOVSXBW (R10)(AX*1), Y8
	VPMADDWD  Y4, Y5, Y5
	VPMADDWD  Y4, Y6, Y6
	VPMADDWD  Y4, Y7, Y7
	VPMADDWD  Y4, Y8, Y8
	VPADDD    Y5, Y0, Y0
	VPADDD    Y6, Y1, Y1
	VPADDD    Y7, Y2, Y2
	VPADDD    Y8, Y3, Y3
	ADDQ      $16, AX
	CMPQ      AX, DX
	JLT       lane16

	VPHADDD      Y1, Y0, Y0
	VPHADDD      Y3, Y2, Y2
	VPHADDD      Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VMOVDQU      X0, (BX)
	ADDQ         $16, BX
	LEAQ         (R10)(DX*1), DI
	SUBQ         $4, CX
	JMP          rows4

done:
	VZEROUPPER
	RET
