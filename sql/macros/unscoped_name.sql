-- Name of an operator or kernel without its network scope and trailing number: `Conv2D` for
-- `Kernel::KernelLaunch::Default/network-Net/conv-Conv2d/Conv2D-op8`. A name that is not a path stays unchanged.
unscoped_name(name) as
    case
        when contains(name, '/') or starts_with(name, 'Kernel::')
            then regexp_replace(regexp_extract(name, '^(?:Kernel::KernelLaunch::)?(?:[^<> ]*/)?(.+)$', 1), '-op[0-9]+$', '')
        else name
    end
