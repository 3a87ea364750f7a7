/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Since 6.2 dma_buf_vmap() and dma_buf_vunmap() require the buffer's lock. Since 5.18
 * they fill a struct iosys_map, which had another name before.
 */
#ifndef CAIRN_COMPAT_DMABUF_H
#define CAIRN_COMPAT_DMABUF_H

#include <linux/dma-buf.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_IOSYS_MAP
#define iosys_map	dma_buf_map
#endif

#ifndef CAIRN_HAS_DMA_BUF_VMAP_UNLOCKED
#define dma_buf_vmap_unlocked	dma_buf_vmap
#define dma_buf_vunmap_unlocked	dma_buf_vunmap
#endif

#endif
