/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_PERSIST_H
#define CAIRN_PERSIST_H

#include "dv.h"

/* cairn's bits of ibv_reg_mr()'s access argument. */
#define CAIRN_ACCESS_PERSIST						\
	((unsigned int)(CAIRNDV_ACCESS_PERSISTENT |			\
			CAIRNDV_ACCESS_PERSISTENT_HOST |		\
			CAIRNDV_ACCESS_PERSISTENT_EMULATED |		\
			CAIRNDV_ACCESS_FLUSH_GLOBAL |			\
			CAIRNDV_ACCESS_FLUSH_PERSISTENT))

/* Return: @access as enum cairn_mr_flags. */
uint32_t cairn_persist_mr_flags(unsigned int access);

/* Fills @info from a completion. @status: as the program sees it. */
void cairn_persist_info(const struct cairn_cqe *cqe, enum ibv_wc_status status,
			struct cairndv_persist_info *info);

#endif /* CAIRN_PERSIST_H */
