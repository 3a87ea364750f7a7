// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "verbs/mr.h"
#include "verbs/release.h"

void cairn_mr_changed(struct cairn_dev *dev, struct cairn_mr *mr)
{
	cairn_epoch_wait(&dev->nic.epoch);
	cairn_nic_count(&dev->nic, CAIRN_CTR_MR_RELEASES, 1);
}

void cairn_mr_release(struct cairn_dev *dev, struct cairn_mr *mr)
{
	cairn_mr_changed(dev, mr);
	cairn_mr_free(mr);
}
