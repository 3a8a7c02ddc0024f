"""What the firmware says about the maker: no metadata service is called."""

from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Cloud, Text, all_unknown
from nccltool.hosts.sources.base import Source, Tree

_DMI = "/sys/class/dmi/id"
_AZURE = "7783-7084-3265-9085-8269-3286-77"
"""The chassis asset tag of every Azure VM."""


def read(tree: Tree, env: Mapping[str, str]) -> Cloud:
    """The DMI strings that every user may read, and the cloud that they tell."""
    del env
    if tree.exists(_DMI) is False:
        return all_unknown(Cloud, f"{_DMI} does not exist: no firmware tells")
    vendor, product, tag = (_dmi(tree, name) for name in ("sys_vendor", "product_name", "chassis_asset_tag"))
    return Cloud(
        provider=_provider(vendor, product, tag),
        sys_vendor=vendor,
        product_name=product,
        product_version=_dmi(tree, "product_version"),
        board_name=_dmi(tree, "board_name"),
        chassis_asset_tag=tag,
        bios_vendor=_dmi(tree, "bios_vendor"),
        bios_version=_dmi(tree, "bios_version"),
    )


def _dmi(tree: Tree, name: str) -> Text:
    return tree.text(f"{_DMI}/{name}")


def _provider(vendor: Text, product: Text, tag: Text) -> str | Unknown | None:
    if vendor == "Amazon EC2":
        return "aws"
    if product == "Google Compute Engine":
        return "gcp"
    if tag == _AZURE:
        return "azure"
    if tag == "OracleCloud.com":
        return "oci"
    return next((one for one in (vendor, product, tag) if isinstance(one, Unknown)), None)


SOURCES = (Source.quick("cloud", "cloud", read),)
