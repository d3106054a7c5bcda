-- Name of a module without its parents' names; NULL for NULL. The outermost module of a backward pass keeps the mark.
own_name(module_name, parent_name) as
    case
        when module_name = '' then '(outside any module)'
        else ltrim(substr(module_name, 1 + coalesce(length(parent_name), 0)), '/')
    end
