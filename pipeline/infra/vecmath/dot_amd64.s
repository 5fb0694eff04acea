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
	JLT  rows1
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
	PREFETCHT0 16384(R11)
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

rows1:
	// What is left goes a row at a time.
	TESTQ CX, CX
	JZ    done
	VPXOR Y0, Y0, Y0
	XORQ  AX, AX

lane1:
	VPMOVSXBW (DI)(AX*1), Y5
	VPMADDWD  (SI)(AX*2), Y5, Y5
	VPADDD    Y5, Y0, Y0
	ADDQ      $16, AX
	CMPQ      AX, DX
	JLT       lane1

	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPHADDD      X0, X0, X0
	VPHADDD      X0, X0, X0
	VMOVD        X0, (BX)
	ADDQ         $4, BX
	ADDQ         DX, DI
	DECQ         CX
	JMP          rows1

done:
	VZEROUPPER
	RET

// func dotVNNI(query *int16, rows *int8, dims, n int, out *int32)
//
// dotAVX2 with 32 numbers of a row at a time, multiplied and added up in one instruction.
TEXT ·dotVNNI(SB), NOSPLIT, $0-40
	MOVQ query+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ dims+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ out+32(FP), BX

rows4:
	CMPQ CX, $4
	JLT  rows1
	LEAQ (DI)(DX*1), R8
	LEAQ (R8)(DX*1), R9
	LEAQ (R9)(DX*1), R10
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	XORQ AX, AX
	MOVQ DI, R11

lane32:
	// 128 bytes of the four rows are used up in each round, which fetches as many ahead.
	PREFETCHT0 16384(R11)
	PREFETCHT0 16448(R11)
	ADDQ       $128, R11
	VMOVDQU16  (SI)(AX*2), Z4
	VPMOVSXBW  (DI)(AX*1), Z5
	VPMOVSXBW  (R8)(AX*1), Z6
	VPMOVSXBW  (R9)(AX*1), Z7
	VPMOVSXBW  (R10)(AX*1), Z8
	VPDPWSSD   Z4, Z5, Z0
	VPDPWSSD   Z4, Z6, Z1
	VPDPWSSD   Z4, Z7, Z2
	VPDPWSSD   Z4, Z8, Z3
	ADDQ       $32, AX
	CMPQ       AX, DX
	JLT        lane32

	VEXTRACTI64X4 $1, Z0, Y5
	VEXTRACTI64X4 $1, Z1, Y6
	VEXTRACTI64X4 $1, Z2, Y7
	VEXTRACTI64X4 $1, Z3, Y8
	VPADDD        Y5, Y0, Y0
	VPADDD        Y6, Y1, Y1
	VPADDD        Y7, Y2, Y2
	VPADDD        Y8, Y3, Y3
	VPHADDD       Y1, Y0, Y0
	VPHADDD       Y3, Y2, Y2
	VPHADDD       Y2, Y0, Y0
	VEXTRACTI128  $1, Y0, X1
	VPADDD        X1, X0, X0
	VMOVDQU       X0, (BX)
	ADDQ          $16, BX
	LEAQ          (R10)(DX*1), DI
	SUBQ          $4, CX
	JMP           rows4

rows1:
	// What is left goes a row at a time.
	TESTQ  CX, CX
	JZ     done
	VPXORD Z0, Z0, Z0
	XORQ   AX, AX

lane1:
	VPMOVSXBW (DI)(AX*1), Z5
	VPDPWSSD  (SI)(AX*2), Z5, Z0
	ADDQ      $32, AX
	CMPQ      AX, DX
	JLT       lane1

	VEXTRACTI64X4 $1, Z0, Y5
	VPADDD        Y5, Y0, Y0
	VEXTRACTI128  $1, Y0, X1
	VPADDD        X1, X0, X0
	VPHADDD       X0, X0, X0
	VPHADDD       X0, X0, X0
	VMOVD         X0, (BX)
	ADDQ          $4, BX
	ADDQ          DX, DI
	DECQ          CX
	JMP           rows1

done:
	VZEROUPPER
	RET

// func fetchRow(row *int8, n int)
TEXT ·fetchRow(SB), NOSPLIT, $0-16
	MOVQ row+0(FP), SI
	MOVQ n+8(FP), CX
	ADDQ SI, CX

line:
	PREFETCHT0 (SI)
	ADDQ       $64, SI
	CMPQ       SI, CX
	JLT        line
	RET
