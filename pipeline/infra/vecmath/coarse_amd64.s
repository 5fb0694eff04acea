#include "textflag.h"

// func coarseVNNI(query *int8, rows *uint8, lanes, n int, out *int32)
//
// Four rows at a time: 64 bytes of each are parted into lower and upper halves, which are
// multiplied with the query's numbers and added in fours into sixteen 32-bit sums.
TEXT ·coarseVNNI(SB), NOSPLIT, $0-40
	MOVQ query+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ lanes+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ out+32(FP), BX
	SHLQ $6, DX
	MOVL $0x0f0f0f0f, AX
	VPBROADCASTD AX, Z15

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

lane4:
	// 256 bytes of the four rows are used up in each round, which fetches as many ahead.
	PREFETCHT0 8192(R11)
	PREFETCHT0 8256(R11)
	PREFETCHT0 8320(R11)
	PREFETCHT0 8384(R11)
	ADDQ       $256, R11
	VMOVDQU64  (SI)(AX*2), Z4
	VMOVDQU64  64(SI)(AX*2), Z5
	VMOVDQU64  (DI)(AX*1), Z6
	VMOVDQU64  (R8)(AX*1), Z7
	VMOVDQU64  (R9)(AX*1), Z8
	VMOVDQU64  (R10)(AX*1), Z9
	VPSRLW     $4, Z6, Z10
	VPSRLW     $4, Z7, Z11
	VPSRLW     $4, Z8, Z12
	VPSRLW     $4, Z9, Z13
	VPANDD     Z15, Z6, Z6
	VPANDD     Z15, Z7, Z7
	VPANDD     Z15, Z8, Z8
	VPANDD     Z15, Z9, Z9
	VPANDD     Z15, Z10, Z10
	VPANDD     Z15, Z11, Z11
	VPANDD     Z15, Z12, Z12
	VPANDD     Z15, Z13, Z13
	VPDPBUSD   Z4, Z6, Z0
	VPDPBUSD   Z4, Z7, Z1
	VPDPBUSD   Z4, Z8, Z2
	VPDPBUSD   Z4, Z9, Z3
	VPDPBUSD   Z5, Z10, Z0
	VPDPBUSD   Z5, Z11, Z1
	VPDPBUSD   Z5, Z12, Z2
	VPDPBUSD   Z5, Z13, Z3
	ADDQ       $64, AX
	CMPQ       AX, DX
	JLT        lane4

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
	VMOVDQU64 (DI)(AX*1), Z6
	VPSRLW    $4, Z6, Z10
	VPANDD    Z15, Z6, Z6
	VPANDD    Z15, Z10, Z10
	VPDPBUSD  (SI)(AX*2), Z6, Z0
	VPDPBUSD  64(SI)(AX*2), Z10, Z0
	ADDQ      $64, AX
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

// func coarseAVX2(query *int8, rows *uint8, lanes, n int, out *int32)
//
// A row at a time, in 32 bytes: a product of halves and numbers is at most 15 times 127, so
// eight of them fit 16 bits.
TEXT ·coarseAVX2(SB), NOSPLIT, $0-40
	MOVQ query+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ lanes+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ out+32(FP), BX
	SHLQ $6, DX
	MOVL $0x0f0f0f0f, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15
	MOVL $0x00010001, AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14

row:
	TESTQ CX, CX
	JZ    done
	VPXOR Y0, Y0, Y0
	XORQ  AX, AX

lane:
	PREFETCHT0 8192(DI)(AX*1)
	VMOVDQU    (DI)(AX*1), Y1
	VMOVDQU    32(DI)(AX*1), Y2
	VPSRLW     $4, Y1, Y3
	VPSRLW     $4, Y2, Y4
	VPAND      Y15, Y1, Y1
	VPAND      Y15, Y2, Y2
	VPAND      Y15, Y3, Y3
	VPAND      Y15, Y4, Y4
	VPMADDUBSW (SI)(AX*2), Y1, Y1
	VPMADDUBSW 32(SI)(AX*2), Y2, Y2
	VPMADDUBSW 64(SI)(AX*2), Y3, Y3
	VPMADDUBSW 96(SI)(AX*2), Y4, Y4
	VPADDW     Y3, Y1, Y1
	VPADDW     Y4, Y2, Y2
	VPADDW     Y2, Y1, Y1
	VPMADDWD   Y14, Y1, Y1
	VPADDD     Y1, Y0, Y0
	ADDQ       $64, AX
	CMPQ       AX, DX
	JLT        lane

	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPHADDD      X0, X0, X0
	VPHADDD      X0, X0, X0
	VMOVD        X0, (BX)
	ADDQ         $4, BX
	ADDQ         DX, DI
	DECQ         CX
	JMP          row

done:
	VZEROUPPER
	RET
