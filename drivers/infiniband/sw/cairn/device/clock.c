// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "device/clock.h"

DEFINE_PER_CPU(struct cairn_clock, cairn_clock);
